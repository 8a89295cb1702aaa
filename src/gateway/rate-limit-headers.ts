import type { Allowance, KeyAllowances } from '../domain/limits/limits.ts';

/** OpenAI's names, so that clients which know them pace themselves (G-41). */
export function rateLimitHeaders({ requests, tokens }: KeyAllowances): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(requests.limit),
    'x-ratelimit-remaining-requests': String(requests.remaining),
    'x-ratelimit-reset-requests': resetIn(requests),
    'x-ratelimit-limit-tokens': String(tokens.limit),
    'x-ratelimit-remaining-tokens': String(tokens.remaining),
    'x-ratelimit-reset-tokens': resetIn(tokens),
  };
}

/** As OpenAI writes it: 250ms, 12.5s, 1m0s. */
function resetIn({ resetMs }: Allowance): string {
  if (resetMs < 1_000) return `${Math.ceil(resetMs)}ms`;
  if (resetMs < 60_000) return `${Math.ceil(resetMs) / 1_000}s`;
  const minutes = Math.floor(resetMs / 60_000);
  return `${minutes}m${Math.ceil((resetMs - minutes * 60_000) / 1_000)}s`;
}
