import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * One external AI service as this process sees it.
 *
 *   closed     Every call enters. A success sets the count of failures to 0, a failure adds one; with the last of
 *              `failures` in a row it becomes open. Failures and successes of other processes are counted with ours. An
 *              answer that began and then broke off is a failure: its success is taken back.
 *   open       Every call is rejected at once. After `cooldownMs` it is half-open: by time, whether or not anybody
 *              calls, and so it is reported.
 *   half-open  The first call is the test, all others are rejected at once. Its success closes, its failure opens
 *              again with a fresh cool-down. A test without a result after `trialTimeoutMs` has failed. A test
 *              whose result says nothing about the service is no test: the next call is one.
 *
 * Half-open is no state of its own but an open one whose cool-down has passed: nothing has to happen for it.
 *
 * Every change begins a new epoch. What was entered in an earlier one is not counted when it ends: a call of an
 * hour ago says nothing about now. Epochs are milliseconds, or one more than the epoch before where that is later:
 * they grow also over processes that know nothing of each other, and of two views of a service the one of the
 * later epoch holds; in one epoch the open one.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';
export type CallResult = 'success' | 'failure' | 'ignored' | NamedFailure;

/** A failure in a word, as 503, time-out or network. */
interface NamedFailure {
  readonly failure: string;
}

/** The last failure of a service that counted, in this process or in another one. */
export interface LastError {
  readonly reason: string;
  readonly atMs: number;
}

export type Entry =
  | {
      readonly outcome: 'enter';
      /**
       * To be called when the call has ended, however it ended. Only the first report counts, with one exception: a
       * success may be followed by one failure, where the answer broke off after its status.
       */
      report(result: CallResult): void;
    }
  | { readonly outcome: 'rejected'; readonly retryAfterMs: number };

/** What processes tell each other of a service. `untilMs` is when the cool-down ends; 0 while closed. */
export interface BreakerView {
  readonly state: 'closed' | 'open';
  readonly epoch: number;
  readonly untilMs: number;
}

interface BreakerRules {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly cooldownMs: number;
  readonly trialTimeoutMs: number;
}

export interface BreakerParts {
  readonly clock: Clock;
  readonly rules: BreakerRules;
  /** Asks all processes for the one test of this epoch. It never rejects. */
  claimTrial(epoch: number): Promise<'granted' | 'taken'>;
  /** Gives the test back, for the next call to be it. */
  releaseTrial(epoch: number): void;
  /** Passes a counted result on to the other processes. A success only where they have failures counted. */
  shareResult?(result: 'success' | 'failure', epoch: number): void;
  /** Runs after a change that was decided here, not after one that was adopted. */
  onChange(cause: 'failures' | 'trial-failed' | 'trial-timed-out' | 'trial-succeeded'): void;
}

export interface Breaker {
  /** At once, but for the test of a half-open breaker, which all processes have to be asked for. */
  enter(): Entry | Promise<Entry>;
  state(): BreakerState;
  view(): BreakerView;
  failuresInARow(): number;
  /** Null while nothing has failed. It stays when the breaker closes. */
  lastError(): LastError | null;
  /** Takes over the last error of another process, if it is the later one. */
  noteError(error: LastError): void;
  /** Counts a result of another process. It never opens the breaker: the process that saw the last failure does. */
  countElsewhere(result: 'success' | 'failure', epoch: number): void;
  /** Takes over what another process knows, if it is news. */
  adopt(view: BreakerView): 'adopted' | 'known' | 'outdated';
  close(): void;
}

/** When to come back where a test is under way, and when a process asks again for one that another process has. */
const TRIAL_PAUSE_MS = 500;

export function createBreaker(parts: BreakerParts): Breaker {
  const { clock, rules, claimTrial, releaseTrial, shareResult, onChange } = parts;
  let view: BreakerView = { state: 'closed', epoch: 0, untilMs: 0 };
  let inARow = 0;
  /** Whether other processes have failures counted since the last success. */
  let isShared = false;
  /** Successes of this epoch, so that one which is taken back knows whether there was another one since. */
  let successes = 0;
  let lastError: LastError | null = null;
  /** Set by a timer too, so that a wall clock set back by an hour does not keep a service shut for an hour. */
  let isCooled = false;
  let cooling: Timer | null = null;
  /** The test of this process: from asking for it until its result. */
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

  /** `before`: failures in a row that an answer had ended by its status, before it broke off. */
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
    // The time starts before the claim and so ends before it: no other process's test overlaps this one.
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

  /** The difference is bounded, so that a clock set back does not put the next question off for long. */
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
      // Another machine's clock may be wrong; no cool-down is longer than a whole one.
      become({ ...other, untilMs: Math.min(other.untilMs, clock.now() + rules.cooldownMs) });
      return 'adopted';
    },
    close() {
      cooling?.cancel();
      trial?.cancel();
    },
  };
}

/** Of the match score generator's model calls: it counts every call that failed, whatever the provider's breaker counts. */
export const MATCH_GENERATOR_BREAKER = 'match_score_generator';

/**
 * The name of a model target's breaker: its provider's host. Null for the embedded models, which need none. A target of
 * the opened catalogue carries its host, so that no call builds a URL for each try (1 µs).
 */
export function serviceOf({ baseUrl, host }: ProviderAddress): string | null {
  if (host !== undefined) return host;
  // Not cut out of the text: what precedes an @ must not be shown in readiness.
  return baseUrl === null ? null : new URL(baseUrl).host;
}

interface ProviderAddress {
  readonly baseUrl: string | null;
  readonly host?: string;
}

function reasonOf(result: 'failure' | NamedFailure): string {
  return result === 'failure' ? 'unknown' : result.failure;
}
