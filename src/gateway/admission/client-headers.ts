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

const API_KEY_HEADER = 'x-api-key';

/** Anthropic's clients send either header, and some send both: then the bearer token is used. */
export function keyIn(request: Request, isMessages: boolean): string {
  const token = bearerToken(request);
  return token ?? (isMessages ? request.headers.get(API_KEY_HEADER) : null) ?? '';
}
