import type { CallResult } from '../breakers/breaker.ts';

/**
 * What one try at a target of a model comes to: its HTTP status, or what kept it from being an answer.
 *
 *   connect              no connection
 *   broken               the connection broke before the status
 *   first-byte-time-out  no status in time
 *   broken-off           the connection broke in the middle of the answer
 *   late                 the rest of the answer did not come in time
 *   unreadable           the answer came whole and is none: not JSON, not of this endpoint, too large
 *   aborted              the caller left, or our process shuts down
 *
 * The three about the rest of an answer concern callers that read it whole before they take it. The gateway takes an
 * answer at its status, so that a stream passes at once, and reports what breaks off after that by itself.
 */
export type TargetResult = number | FailureName;

type FailureName =
  | 'connect'
  | 'broken'
  | 'first-byte-time-out'
  | 'broken-off'
  | 'late'
  | 'unreadable'
  | 'aborted';

export interface FailureRule {
  /**
   * take: this is the answer. stop: no other target is asked. next: the next target is asked. None is asked twice: a
   * provider may have seen the call, and charge for it.
   */
  readonly action: 'take' | 'stop' | 'next';
  /** What the provider's breaker counts. The last three are failures, by the name its last error has. */
  readonly breaker: 'success' | 'ignored' | 'network' | 'time-out' | 'status';
  /**
   * What the model directory counts for the target: after failures in a row it is tried last for a while, and after one
   * answer that cools it at once (`target-cooling.ts`), by itself and with no other target of its provider.
   */
  readonly target: 'success' | 'failure' | 'cools' | 'unchanged';
}

interface FailureRow extends FailureRule {
  /** Exact statuses and names go before a class of statuses; `other` is whatever no row names. */
  readonly on: readonly (TargetResult | '2xx' | '3xx' | '4xx' | 'other')[];
}

/**
 * The one failure policy of all model calls: the gateway's, the parser's, the matcher's and the meeting summaries'.
 *
 * A failure for the breaker is what every other call of that provider would most likely meet too: a 5xx, a time-out, a
 * broken connection. A 400 is about what the client sent, a 429 or a 401 about one model and one key, a 404 about one
 * model of many: they say nothing about the service, so they neither count nor end a count, and as the test of a
 * half-open breaker they leave the test to the next call. What an answer is worth is not looked at: a model that answers
 * in prose where JSON was requested is there.
 */
export const FAILURE_POLICY: readonly FailureRow[] = [
  { on: ['2xx'], action: 'take', breaker: 'success', target: 'success' },

  // The request is at fault: every target would say the same, and the caller can do something about it.
  { on: [400, 413, 415, 422], action: 'stop', breaker: 'ignored', target: 'success' },

  // Our key, account or proxy, until an operator acts; or the rate limit of this model and key. Readiness shows it.
  { on: [401, 402, 403, 407, 429], action: 'next', breaker: 'ignored', target: 'cools' },

  // Anthropic's word for a model that has too many calls: a failure of the service, which passes as a rate limit does.
  { on: [529], action: 'next', breaker: 'status', target: 'cools' },

  // The service's own time-out.
  { on: [408], action: 'next', breaker: 'time-out', target: 'failure' },

  // A wrong base address: no such service redirects.
  { on: ['3xx'], action: 'next', breaker: 'ignored', target: 'failure' },

  // 404, 409 and the like: of this target or this content, so another target may well answer.
  { on: ['4xx'], action: 'next', breaker: 'ignored', target: 'failure' },

  { on: ['other'], action: 'next', breaker: 'status', target: 'failure' },

  { on: ['connect'], action: 'next', breaker: 'network', target: 'failure' },

  // The call was sent, wholly or in part. One of which nothing was sent never comes here: the upstream's client sends it on
  // another connection.
  { on: ['broken'], action: 'next', breaker: 'network', target: 'failure' },

  { on: ['first-byte-time-out'], action: 'next', breaker: 'time-out', target: 'failure' },
  { on: ['broken-off'], action: 'next', breaker: 'network', target: 'failure' },
  { on: ['late'], action: 'next', breaker: 'time-out', target: 'failure' },

  // As for every other 2xx the service is there. It is this target that does not do what it should.
  { on: ['unreadable'], action: 'next', breaker: 'success', target: 'failure' },

  { on: ['aborted'], action: 'stop', breaker: 'ignored', target: 'unchanged' },
];

export function ruleFor(result: TargetResult): FailureRule {
  return RULES.get(result) ?? RULES.get(statusClass(result)) ?? OTHER;
}

/** As the breaker takes it. */
export function breakerResult({ breaker }: FailureRule, result: TargetResult): CallResult {
  switch (breaker) {
    case 'network':
      return NETWORK;
    case 'time-out':
      return TIME_OUT;
    case 'status':
      return { failure: String(result) };
    default:
      return breaker;
  }
}

/** In a word, for logs and for the record of a call. */
export function reasonFor(result: TargetResult): string {
  return result === 'broken-off' || result === 'unreadable' ? 'broken' : String(result);
}

const RULES = new Map(FAILURE_POLICY.flatMap((row) => row.on.map((on) => [on, row] as const)));
const OTHER = RULES.get('other') as FailureRule;
const NETWORK = { failure: 'network' } as const;
const TIME_OUT = { failure: 'time-out' } as const;

function statusClass(result: TargetResult): '2xx' | '3xx' | '4xx' | 'other' {
  if (typeof result !== 'number') return 'other';
  if (result >= 200 && result < 300) return '2xx';
  if (result >= 300 && result < 400) return '3xx';
  return result >= 400 && result < 500 ? '4xx' : 'other';
}
