import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * An external AI service as this process sees it.
 *
 *   closed     Every call enters. A success resets the count of failures to 0, a failure adds one; `failures` in a row
 *              open it. Failures and successes of other processes are counted too. An answer that began and then broke
 *              off is a failure: its success is taken back.
 *   open       Every call is rejected at once. After `cooldownMs` it becomes half-open and is reported as such, even
 *              without calls.
 *   half-open  The first call is the test; all others are rejected at once. If the test succeeds the breaker closes; if
 *              it fails the breaker opens again with a new cool-down. A test without a result after `trialTimeoutMs` has
 *              failed. If the result of a test says nothing about the service, the next call is the test.
 *
 * Half-open is not a state of its own but an open breaker whose cool-down has passed, so nothing needs to happen for it.
 *
 * Every change begins a new epoch. The result of a call that entered in an earlier epoch is not counted: a call of an
 * hour ago says nothing about the present. An epoch is the time in milliseconds, or the previous epoch plus one if that
 * is later, so epochs increase even across processes that do not know of each other. Of two views of a service, the one
 * with the later epoch is valid; within one epoch, the open one.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';
export type CallResult = 'success' | 'failure' | 'ignored' | NamedFailure;

/** A failure with its reason, such as 503, time-out or network. */
interface NamedFailure {
  readonly failure: string;
}

/** The last counted failure of a service, in this or another process. */
export interface LastError {
  readonly reason: string;
  readonly atMs: number;
}

export type Entry =
  | {
      readonly outcome: 'enter';
      /**
       * To be called when the call has ended, whatever the result. Only the first report counts, with one exception: a
       * success may be followed by one failure, if the answer broke off after its status.
       */
      report(result: CallResult): void;
    }
  | { readonly outcome: 'rejected'; readonly retryAfterMs: number };

/** The state of a service that processes exchange. `untilMs` is the end of the cool-down; 0 while closed. */
export interface BreakerView {
  readonly state: 'closed' | 'open';
  readonly epoch: number;
  readonly untilMs: number;
}

interface BreakerRules {
  /** Consecutive failures that open it. */
  readonly failures: number;
  readonly cooldownMs: number;
  readonly trialTimeoutMs: number;
}

export interface BreakerParts {
  readonly clock: Clock;
  readonly rules: BreakerRules;
  /** Claims the one test of this epoch among all processes. Never rejects. */
  claimTrial(epoch: number): Promise<'granted' | 'taken'>;
  /** Releases the test, so that the next call becomes the test. */
  releaseTrial(epoch: number): void;
  /** Sends a counted result to the other processes. A success is only sent if they have counted failures. */
  shareResult?(result: 'success' | 'failure', epoch: number): void;
  /** Called after a change that was decided here, not after one that was adopted. */
  onChange(cause: 'failures' | 'trial-failed' | 'trial-timed-out' | 'trial-succeeded'): void;
}

export interface Breaker {
  /** Synchronous, except for the test of a half-open breaker, which is claimed among all processes. */
  enter(): Entry | Promise<Entry>;
  state(): BreakerState;
  view(): BreakerView;
  failuresInARow(): number;
  /** Null before the first failure. Kept when the breaker closes. */
  lastError(): LastError | null;
  /** Adopts the last error of another process if it is later. */
  noteError(error: LastError): void;
  /** Counts a result of another process. It never opens the breaker: the process that saw the last failure does. */
  countElsewhere(result: 'success' | 'failure', epoch: number): void;
  /** Adopts the view of another process if it is newer. */
  adopt(view: BreakerView): 'adopted' | 'known' | 'outdated';
  close(): void;
}

/**
 * The retry time of calls that are rejected during a test, and the wait before claiming a test again that another
 * process has.
 */
const TRIAL_PAUSE_MS = 500;

export function createBreaker(parts: BreakerParts): Breaker {
  const { clock, rules, claimTrial, releaseTrial, shareResult, onChange } = parts;
  let view: BreakerView = { state: 'closed', epoch: 0, untilMs: 0 };
  let inARow = 0;
  /** Whether other processes have counted failures since the last success. */
  let isShared = false;
  /** Successes of this epoch. When one is taken back, the count shows whether another one followed. */
  let successes = 0;
  let lastError: LastError | null = null;
  /** Set by a timer, so that a wall clock that is set back by an hour does not block a service for an hour. */
  let isCooled = false;
  let cooling: Timer | null = null;
  /** The test of this process, from the claim until its result. */
  let trial: Timer | null = null;
  let askAgainAtMs = 0;

  const isHalfOpen = () => view.state === 'open' && (isCooled || clock.now() >= view.untilMs);
  const nextEpoch = () => Math.max(clock.now(), view.epoch + 1);

  function become(next: BreakerView): void {
    cooling?.cancel();
    trial?.cancel();
    cooling = trial = null;
    view = next;
    inARow = askAgainAtMs = successes = 0;
    isCooled = isShared = false;
    if (next.state === 'closed') return;
    const leftMs = Math.max(0, next.untilMs - clock.now());
    cooling = clock.after(leftMs, () => {
      isCooled = true;
    });
  }

  function failed(reason: string): void {
    lastError = { reason, atMs: clock.now() };
  }

  function open(cause: 'failures' | 'trial-failed' | 'trial-timed-out'): void {
    become({ state: 'open', epoch: nextEpoch(), untilMs: clock.now() + rules.cooldownMs });
    onChange(cause);
  }

  function noteSuccess(): void {
    inARow = 0;
    successes += 1;
    if (!isShared) return;
    isShared = false;
    shareResult?.('success', view.epoch);
  }

  /** `before`: consecutive failures that the answer's status had reset, before it broke off. */
  function noteFailure(result: 'failure' | NamedFailure, before = 0): void {
    failed(reasonOf(result));
    inARow += before + 1;
    if (inARow >= rules.failures) {
      open('failures');
      return;
    }
    isShared = true;
    shareResult?.('failure', view.epoch);
  }

  function noteTrial(result: CallResult): void {
    if (result === 'success') {
      become({ state: 'closed', epoch: nextEpoch(), untilMs: 0 });
      onChange('trial-succeeded');
    } else if (result === 'ignored') {
      trial?.cancel();
      trial = null;
      releaseTrial(view.epoch);
    } else {
      failed(reasonOf(result));
      open('trial-failed');
    }
  }

  function enteredAsTrial(): Entry {
    const { epoch } = view;
    let isReported = false;
    return {
      outcome: 'enter',
      report(result) {
        if (isReported) return;
        isReported = true;
        if (view.epoch === epoch) noteTrial(result);
      },
    };
  }

  function entered(): Entry {
    const { epoch } = view;
    let reported: 'nothing' | 'success' | 'end' = 'nothing';
    let before = 0;
    let success = 0;
    return {
      outcome: 'enter',
      report(result) {
        if (reported === 'end' || view.epoch !== epoch) return;
        const isFirst = reported === 'nothing';
        reported = isFirst && result === 'success' ? 'success' : 'end';
        if (result === 'ignored') return;
        if (result !== 'success') {
          noteFailure(result, !isFirst && success === successes ? before : 0);
        } else if (isFirst) {
          before = inARow;
          noteSuccess();
          success = successes;
        }
      },
    };
  }

  function rejected(retryAfterMs: number): Entry {
    return { outcome: 'rejected', retryAfterMs: Math.min(Math.max(1, retryAfterMs), rules.cooldownMs) };
  }

  async function enterAsTrial(): Promise<Entry> {
    const { epoch } = view;
    // The timer starts before the claim and so ends before it: no other process's test overlaps this one.
    trial = clock.after(rules.trialTimeoutMs, () => {
      failed('time-out');
      open('trial-timed-out');
    });
    const claimed = await claimTrial(epoch);
    if (view.epoch !== epoch) return enter();
    if (claimed === 'granted') return enteredAsTrial();
    trial?.cancel();
    trial = null;
    askAgainAtMs = clock.now() + TRIAL_PAUSE_MS;
    return rejected(TRIAL_PAUSE_MS);
  }

  function enter(): Entry | Promise<Entry> {
    if (view.state === 'closed') return entered();
    if (!isHalfOpen()) return rejected(view.untilMs - clock.now());
    if (trial !== null || isAskedTooSoon()) return rejected(TRIAL_PAUSE_MS);
    return enterAsTrial();
  }

  /** The difference is limited, so that a clock that is set back does not delay the next claim for long. */
  function isAskedTooSoon(): boolean {
    const leftMs = askAgainAtMs - clock.now();
    return leftMs > 0 && leftMs <= TRIAL_PAUSE_MS;
  }

  return {
    enter,
    state: () => (isHalfOpen() ? 'half-open' : view.state),
    view: () => view,
    failuresInARow: () => inARow,
    lastError: () => lastError,
    noteError(error) {
      if (lastError === null || error.atMs > lastError.atMs) lastError = error;
    },
    countElsewhere(result, epoch) {
      if (view.state !== 'closed' || view.epoch !== epoch) return;
      isShared = result === 'failure';
      inARow = isShared ? Math.max(inARow, Math.min(inARow + 1, rules.failures - 1)) : 0;
    },
    adopt(other) {
      if (other.epoch === view.epoch && other.state === view.state) return 'known';
      const isNews = other.epoch > view.epoch || (other.epoch === view.epoch && other.state === 'open');
      if (!isNews) return 'outdated';
      // Another machine's clock may be wrong, so the remaining cool-down is limited to a full one.
      become({ ...other, untilMs: Math.min(other.untilMs, clock.now() + rules.cooldownMs) });
      return 'adopted';
    },
    close() {
      cooling?.cancel();
      trial?.cancel();
    },
  };
}

/**
 * The breaker of the match score generator's model calls. It counts every failed call, whatever the provider's breaker
 * counts.
 */
export const MATCH_GENERATOR_BREAKER = 'match_score_generator';

/**
 * The name of a model target's breaker: its provider's host. Null for the embedded models, which need none. A target of
 * the opened catalogue has its host, so that no attempt needs to build a URL (1 µs).
 */
export function serviceOf({ baseUrl, host }: ProviderAddress): string | null {
  if (host !== undefined) return host;
  // Parsed, not cut out of the text: what precedes an @ must not be shown in readiness.
  return baseUrl === null ? null : new URL(baseUrl).host;
}

interface ProviderAddress {
  readonly baseUrl: string | null;
  readonly host?: string;
}

function reasonOf(result: 'failure' | NamedFailure): string {
  return result === 'failure' ? 'unknown' : result.failure;
}
