import type { CallResult } from './breaker.ts';

/** How a call of an external AI service ended, as far as the service is concerned. */
export type ServiceResult =
  | { readonly kind: 'answered'; readonly status: number }
  /** No answer, or no next part of it, in time. */
  | { readonly kind: 'time-out' }
  /** Not reached, refused, or broken off in the middle of an answer. */
  | { readonly kind: 'network' }
  /** Whoever wanted the answer has gone, or our process goes down. */
  | { readonly kind: 'aborted' };

/**
 * Refusals that hold for every call until somebody does something: a wrong key, no money left with the provider.
 * The service is of no use meanwhile, and an open breaker says so in readiness.
 */
const REFUSES_EVERY_CALL = new Set([401, 402, 407]);
/** The service's own time-out; and too many calls, with or without a Retry-After: it asks to be left alone. */
const ASKS_FOR_A_PAUSE = new Set([408, 425, 429]);

/**
 * What counts. A failure is what another call would most likely meet too: 5xx, 429, time-outs, the network, a wrong
 * key, and a redirect, which no such service sends. A 400, 413 or 422 is a judgement of what we sent, a 403 may be
 * about its content, and a 404 about one model of many: they say nothing about the service, so they neither count
 * nor end a count, and as the test of a half-open breaker they leave the test to the next call. A call that its
 * caller gave up says nothing either. What an answer is worth is not looked at here: a model that answers in prose
 * where JSON was asked for is there.
 */
export function judgeResult(result: ServiceResult): CallResult {
  if (result.kind === 'aborted') return 'ignored';
  if (result.kind !== 'answered') return { failure: result.kind };
  const { status } = result;
  if (status >= 200 && status < 300) return 'success';
  const isOurs =
    status >= 400 && status < 500 && !REFUSES_EVERY_CALL.has(status) && !ASKS_FOR_A_PAUSE.has(status);
  return isOurs ? 'ignored' : { failure: String(status) };
}
