import type { ClientWire } from '../json/client-wire.ts';

/** The client's headers that a provider may see, by the wire; no other reaches it. */
const FORWARDED = {
  completions: ['openai-beta'],
  responses: ['openai-beta'],
  messages: ['anthropic-version', 'anthropic-beta'],
} as const satisfies Record<ClientWire, readonly string[]>;

export function forwardedFrom(request: Request, wire: ClientWire): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of FORWARDED[wire]) {
    const value = request.headers.get(name);
    if (value !== null) forwarded[name] = value;
  }
  return forwarded;
}
