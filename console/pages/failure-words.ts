/** Why a call failed, for people. What is not in here is shown by its own word. */
const REASONS: Readonly<Record<string, string>> = {
  'client-left': 'The caller hung up before the answer had ended',
  'no-usage': 'The answer came without its usage, so it is not charged',
  'upstream-broken': 'The provider broke off in the middle of its answer',
  'upstream-time-out': 'The provider was silent for too long',
  'time-out': 'The provider was silent for too long',
  'upstream-too-large': 'The provider’s answer was too large',
  'unreadable-document': 'The document could not be read',
  INSUFFICIENT_CREDITS: 'There were no credits left',
  LLM_SCOPE_DENIED: 'The key lacks the scope',
  LLM_MODEL_NOT_ALLOWED: 'The key may not call this model',
  PLAN_LIMIT_EXCEEDED: 'An invoice is overdue',
  LLM_GATEWAY_UNAVAILABLE: 'No provider could be reached',
  rateLimited: 'A limit of the key was reached',
  invalidRequest: 'The request could not be read',
  notFound: 'There is no such route',
  idempotencyConflict: 'The idempotency key was taken',
  tooLarge: 'The request was too large',
  tooSlow: 'The request did not arrive in time',
};

/** What a person can do about it, where there is something. */
const WAYS_OUT: Readonly<Record<string, { readonly href: string; readonly name: string }>> = {
  INSUFFICIENT_CREDITS: { href: '/billing', name: 'Buy credits' },
  PLAN_LIMIT_EXCEEDED: { href: '/billing', name: 'See the invoices' },
  LLM_SCOPE_DENIED: { href: '/keys', name: 'See the keys' },
  LLM_MODEL_NOT_ALLOWED: { href: '/keys', name: 'See the keys' },
  rateLimited: { href: '/keys', name: 'See its limits' },
};

interface WhatFailed {
  readonly outcome: 'FAILED' | 'REFUSED';
  readonly reason: string | null;
  readonly httpStatus: number;
}

/** A call that failed with one of these had passed our own look: it was the provider that said no. */
const SAID_BY_PROVIDERS = ['invalidRequest', 'rateLimited', 'notFound', 'tooLarge', 'tooSlow'];

export function failureWords({ outcome, reason, httpStatus }: WhatFailed): string {
  if (outcome === 'FAILED' && reason !== null && SAID_BY_PROVIDERS.includes(reason)) {
    return `The provider refused it with ${httpStatus}`;
  }
  if (reason === null) return `The provider answered ${httpStatus}`;
  return REASONS[reason] ?? reason;
}

export function wayOut({
  outcome,
  reason,
}: WhatFailed): { readonly href: string; readonly name: string } | null {
  return reason === null || outcome === 'FAILED' ? null : (WAYS_OUT[reason] ?? null);
}
