import type { CallResult } from '../breakers/breaker.ts';

/**
 * The result of one attempt at a target of a model: its HTTP status, or the reason why there is no answer.
 *
 *   connect              no connection
 *   local                no connection, because our process or machine lacks descriptors, ports or memory for one
 *   broken               the connection broke before the status
 *   first-byte-time-out  no status in time
 *   broken-off           the connection broke in the middle of the answer
 *   late                 the rest of the answer did not arrive in time
 *   unreadable           the answer is complete but invalid: not JSON, not of this endpoint, or too large
 *   aborted              the caller left, or our process is shutting down
 *
 * The three results about the rest of an answer apply to callers that read it whole before they accept it. The gateway
 * accepts an answer at its status, so that a stream is passed on immediately, and reports later failures itself.
 */
export type TargetResult = number | FailureName;

type FailureName =
  | 'connect'
  | 'local'
  | 'broken'
  | 'first-byte-time-out'
  | 'broken-off'
  | 'late'
  | 'unreadable'
  | 'aborted';

export interface FailureRule {
  /**
   * take: this is the answer. stop: no other target is called. next: the next target is called. Only the alias's
   * `retries` call a target again: its provider may have received the call, and charge for it.
   */
  readonly action: 'take' | 'stop' | 'next';
  /** What the provider's breaker counts. The last three are failures, named as in its last error. */
  readonly breaker: 'success' | 'ignored' | 'network' | 'time-out' | 'status';
  /**
   * What the model directory counts for the target. After several failures in a row it is tried last for a while; after
   * a status that cools it (`target-cooling.ts`) immediately. Other targets of its provider are not affected.
   */
  readonly target: 'success' | 'failure' | 'cools' | 'unchanged';
}

interface FailureRow extends FailureRule {
  /** Exact statuses and names take precedence over a class of statuses; `other` is everything that no row lists. */
  readonly on: readonly (TargetResult | '2xx' | '3xx' | '4xx' | 'other')[];
}

/**
 * The failure policy of all model calls: the gateway's, the parser's, the matcher's and the meeting summaries'.
 *
 * A failure for the breaker is one that every other call to the provider would most likely meet as well: a 5xx, a
 * time-out, a broken connection. A 400 is about what the client sent, a 429 or a 401 about one model and one key, a 404
 * about one of many models. They say nothing about the service, so they neither count as failures nor reset the count,
 * and as the test of a half-open breaker they leave the test to the next call. The content of an answer is not judged:
 * a model that answers in prose although JSON was requested is available.
 */
export const FAILURE_POLICY: readonly FailureRow[] = [
  { on: ['2xx'], action: 'take', breaker: 'success', target: 'success' },

  // The request is at fault: every target would refuse it, and the caller can correct it.
  { on: [400, 413, 415, 422], action: 'stop', breaker: 'ignored', target: 'success' },

  // Our key, account or proxy, until an operator acts; or the rate limit of this model and key. Readiness shows it.
  { on: [401, 402, 403, 407, 429], action: 'next', breaker: 'ignored', target: 'cools' },

  // Anthropic's status for an overloaded model: a failure of the service, temporary like a rate limit.
  { on: [529], action: 'next', breaker: 'status', target: 'cools' },

  // The service's own time-out.
  { on: [408], action: 'next', breaker: 'time-out', target: 'failure' },

  // A wrong base address: such services do not redirect.
  { on: ['3xx'], action: 'next', breaker: 'ignored', target: 'failure' },

  // 404, 409 and the like: specific to this target or this content, so another target may well answer.
  { on: ['4xx'], action: 'next', breaker: 'ignored', target: 'failure' },

  { on: ['other'], action: 'next', breaker: 'status', target: 'failure' },

  { on: ['connect'], action: 'next', breaker: 'network', target: 'failure' },

  // Says nothing about a provider. The next target may have an idle connection, or need none.
  { on: ['local'], action: 'next', breaker: 'ignored', target: 'unchanged' },

  // The call was sent, at least in part. A call of which nothing was sent does not end up here: the upstream's client
  // sends it on another connection.
  { on: ['broken'], action: 'next', breaker: 'network', target: 'failure' },

  { on: ['first-byte-time-out'], action: 'next', breaker: 'time-out', target: 'failure' },
  { on: ['broken-off'], action: 'next', breaker: 'network', target: 'failure' },
  { on: ['late'], action: 'next', breaker: 'time-out', target: 'failure' },

  // As with any 2xx, the service is available; it is this target that misbehaves.
  { on: ['unreadable'], action: 'next', breaker: 'success', target: 'failure' },

  { on: ['aborted'], action: 'stop', breaker: 'ignored', target: 'unchanged' },
];

export function ruleFor(result: TargetResult): FailureRule {
  return RULES.get(result) ?? RULES.get(statusClass(result)) ?? OTHER;
}

/** The result in the breaker's format. */
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

/** A short reason, for logs and for the record of a call. */
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
