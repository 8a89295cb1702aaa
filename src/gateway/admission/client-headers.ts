import { bearerToken } from '../../http/client-identity.ts';
import type { ClientWire } from '../json/client-wire.ts';

/** The client's headers that are forwarded to a provider, by wire format; no others are. */
const FORWARDED = {
  completions: ['openai-beta'],
  responses: ['openai-beta'],
  messages: ['anthropic-version', 'anthropic-beta'],
} as const satisfies Record<ClientWire, readonly string[]>;

export function forwardedFrom(request: Request, wire: ClientWire): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of FORWARDED[wire]) {
    const value = request.headers.get(name);
    if (value !== null && SENDABLE.test(value)) forwarded[name] = value;
  }
  return forwarded;
}

/**
 * No control characters. The runtime accepts DEL, but a call with it fails, and that would count against the provider.
 */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Anthropic's clients send `x-api-key`, on their routes alone, and Azure's send `api-key`. Some send a bearer token too, which is
 * used then.
 */
export function keyIn(request: Request, isMessages: boolean): string {
  const token = bearerToken(request);
  if (token !== null) return token;
  const { headers } = request;
  return (isMessages ? headers.get('x-api-key') : null) ?? headers.get('api-key') ?? '';
}
