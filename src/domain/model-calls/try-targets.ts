import type { Clock } from '../../ports/clock.ts';
import type { EndSignal } from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Alias, AliasTarget } from '../models/aliases.ts';
import { type CallAbort, createCallAbort } from './call-abort.ts';
import { reasonFor, type TargetResult } from './failure-policy.ts';
import {
  type CallKind,
  discard,
  type Ending,
  type FailedAttempt,
  type ModelRequest,
  type TargetOutcome,
  type TryTargetsParts,
  tryTarget,
} from './try-target.ts';

/**
 * How a call tries the targets of its model:
 *
 *   order      by the alias's strategy, resting and cooling targets last. Each is tried once, until one answers; the table in
 *              failure-policy.ts defines what each failure means. A target is skipped if its provider's breaker is open or
 *              if it is at its limit of calls in flight
 *   hedge      if a target has not answered after `hedgeMs`, the next one is called as well. The first answer is taken; the
 *              other call is aborted and not counted
 *   retries    this many further attempts at targets whose failure may be temporary, after a pause
 *   fallback   then the same with the targets of the next alias
 */
export type Tried<Answer> =
  | Ending<Answer>
  /** Every target that was called has failed; id and reason are those of the last one. */
  | {
      readonly outcome: 'failed';
      readonly targetId: string;
      readonly reason: string;
      /**
       * For all targets: each answered 429, each refused our key or model name, or none could be connected to because of
       * this machine; otherwise `other`.
       */
      readonly cause: 'rate-limit' | 'refused' | 'local' | 'other';
      /** The longest wait that a failed target asked for; null if none did. */
      readonly retryAfterMs: number | null;
      /** The longest time-out that was reached while a status was awaited; null if none was. */
      readonly limitMs: number | null;
      readonly tries: number;
    }
  /** No target was called: all were skipped, or there is none (`retryAfterMs` is null). */
  | { readonly outcome: 'not-tried'; readonly retryAfterMs: number | null };

export async function tryTargets<Request extends ModelRequest, Answer>(
  given: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  signal: EndSignal,
): Promise<Tried<Answer>> {
  const { fallbacks = NO_FALLBACKS } = request;
  /** Null while nothing has gone wrong. */
  let progress: Progress | null = null;
  let own = request;
  for (let aliases = 0; ; aliases += 1) {
    const { routing = null } = own.alias;
    const parts = withOwnStates(given, own.alias);
    const line = targetsFor(parts, kind, own);
    const again = routing === null || routing.retries === 0 ? null : createRetries(parts, own.alias);
    for (let at = 0; ; at += 1) {
      if (signal.aborted) return abortedAfter(progress);
      const target: AliasTarget | null = line[at] ?? (await again?.next(signal)) ?? null;
      if (target === null) break;
      const hedgeMs = routing?.hedgeMs ?? null;
      const second = hedgeMs === null ? undefined : line[at + 1];
      let tried: TargetOutcome<Answer>;
      if (hedgeMs === null || second === undefined) {
        tried = await tryTarget(parts, kind, own, target, signal);
      } else {
        const raced = await tryHedged(parts, kind, own, { target, second, hedgeMs }, signal);
        if (raced.isHedged) at += 1;
        for (const earlier of raced.earlier) progress = noted(progress, earlier, again);
        if (raced.isRunning) progress = withTry(progress);
        tried = raced.tried;
      }
      if (isFinal(own.alias, tried)) return endedWith(tried, progress);
      progress = noted(progress, tried, again);
    }
    if (signal.aborted) return abortedAfter(progress);
    const next = fallbacks[aliases];
    if (next === undefined) break;
    own = { ...request, alias: next };
  }
  return progress === null ? NOT_TRIED : unanswered(progress);
}

/** Results of a company's own key at a provider affect only that key's state. */
function withOwnStates(parts: TryTargetsParts, { ownKey }: Alias): TryTargetsParts {
  return ownKey === undefined ? parts : { ...parts, models: ownKey.states };
}

const NO_FALLBACKS: readonly Alias[] = [];
const NOT_TRIED = { outcome: 'not-tried', retryAfterMs: null } as const;

type RequestRefused = Extract<Ending<unknown>, { outcome: 'request-refused' }>;

/** With `retryStatuses` other targets try a request that one has refused, for example a prompt that is too long for it. */
function isFinal<Answer>({ routing }: Alias, tried: TargetOutcome<Answer>): tried is Ending<Answer> {
  if (tried.outcome === 'failed-try' || tried.outcome === 'passed-over') return false;
  return tried.outcome !== 'request-refused' || !routing?.retryStatuses.includes(tried.answer.status);
}

/** What has gone wrong so far. */
interface Progress {
  tries: number;
  failed: FailedTry | null;
  /** Time until the first of the skipped targets may be tried. */
  retryAfterMs: number | null;
  /** The last refusal of the request after which another target was tried: returned if no target answers. */
  refused: RequestRefused | null;
}

type FailedTry = Extract<Tried<unknown>, { outcome: 'failed' }>;

function withTry(progress: Progress | null): Progress {
  const noted = progress ?? { tries: 0, failed: null, retryAfterMs: null, refused: null };
  noted.tries += 1;
  return noted;
}

function noted(progress: Progress | null, tried: TargetOutcome<unknown>, again: Retries | null): Progress {
  const after = withTry(progress);
  switch (tried.outcome) {
    case 'passed-over':
      after.tries -= 1;
      after.retryAfterMs = Math.min(after.retryAfterMs ?? tried.retryAfterMs, tried.retryAfterMs);
      break;
    case 'request-refused':
      if (after.refused !== null) discard(after.refused.answer);
      after.refused = tried;
      break;
    case 'failed-try':
      after.failed = failedWith(after.failed, tried);
      again?.add(tried);
      break;
  }
  return after;
}

/** Combines the failure with the previous ones. */
function failedWith(
  before: FailedTry | null,
  tried: Extract<FailedAttempt, { outcome: 'failed-try' }>,
): FailedTry {
  const cause = causeOf(tried.result);
  return {
    outcome: 'failed',
    targetId: tried.target.id,
    reason: reasonFor(tried.result),
    cause: before === null || before.cause === cause ? cause : 'other',
    retryAfterMs: longerOf(before?.retryAfterMs ?? null, tried.retryAfterMs),
    limitMs: longerOf(before?.limitMs ?? null, tried.limitMs),
    tries: 0,
  };
}

function endedWith<Answer>(tried: Ending<Answer>, progress: Progress | null): Ending<Answer> {
  if (progress === null) return tried;
  if (progress.refused !== null) discard(progress.refused.answer);
  tried.tries += progress.tries;
  return tried;
}

function abortedAfter(progress: Progress | null): Ending<never> {
  if (progress?.refused != null) discard(progress.refused.answer);
  return { outcome: 'aborted', targetId: progress?.failed?.targetId ?? null, tries: progress?.tries ?? 0 };
}

function unanswered({ failed, refused, retryAfterMs, tries }: Progress): Tried<never> {
  if (refused !== null) {
    refused.tries = tries;
    return refused;
  }
  if (failed === null) return { outcome: 'not-tried', retryAfterMs };
  // A skipped target was not called, so not every target has answered 429.
  return retryAfterMs === null ? { ...failed, tries } : { ...failed, cause: 'other', tries };
}

const REFUSED: readonly TargetResult[] = [401, 402, 403, 404, 407];

function causeOf(result: TargetResult): FailedTry['cause'] {
  if (result === 429) return 'rate-limit';
  if (result === 'local') return 'local';
  return REFUSED.includes(result) ? 'refused' : 'other';
}

function longerOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function targetsFor<Request extends ModelRequest, Answer>(
  { models, secrets }: TryTargetsParts,
  { order, uses }: CallKind<Request, Answer>,
  { alias, isStream }: Request,
): readonly AliasTarget[] {
  const ordered =
    order === 'weighted' ? models.order(alias, drawFor(alias, secrets), isStream) : alias.targets;
  if (uses === 'all') return ordered;
  return ordered.filter(({ baseUrl }) => (baseUrl === null) === (uses === 'embedded'));
}

/** With one target there is nothing to draw, and randomness is the most expensive part of choosing. */
function drawFor({ targets }: Alias, secrets: Pick<Secrets, 'randomBytes'>): number {
  return targets.length === 1 ? 0 : randomFraction(secrets);
}

/** From 0 up to, not including, 1. */
function randomFraction(secrets: Pick<Secrets, 'randomBytes'>): number {
  const [a = 0, b = 0, c = 0] = secrets.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}

/** Targets that are tried again, in the order in which they failed. */
interface Retries {
  add(tried: Extract<FailedAttempt, { outcome: 'failed-try' }>): void;
  /** Waits for a pause first. Null if there is none, and if the caller has left. */
  next(signal: EndSignal): Promise<AliasTarget | null>;
}

/** The pause is at least half of this, and doubles with each further attempt. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;
/** A provider that asks for a longer wait is not tried again by the same call. */
const LONGEST_NAMED_MS = 5_000;
const MOST_RETRIES = 10;

function createRetries({ clock, secrets }: TryTargetsParts, { routing }: Alias): Retries {
  const waiting: { readonly target: AliasTarget; readonly waitMs: number }[] = [];
  const most = Math.min(routing?.retries ?? 0, MOST_RETRIES);
  let added = 0;
  return {
    add(tried) {
      if (added >= most || !mayPass(tried.result)) return;
      const waitMs = tried.retryAfterMs ?? 0;
      if (waitMs > LONGEST_NAMED_MS) return;
      added += 1;
      waiting.push({ target: tried.target, waitMs });
    },
    async next(signal) {
      const first = waiting.shift();
      if (first === undefined) return null;
      const further = added - waiting.length - 1;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** further, LONGEST_PAUSE_MS);
      // Spreads the retries of many calls that failed at the same time.
      const spreadMs = pauseMs * (0.5 + randomFraction(secrets) / 2);
      await pause(clock, Math.max(spreadMs, first.waitMs), signal);
      return signal.aborted ? null : first.target;
    },
  };
}

const PASSING: readonly TargetResult[] = [408, 409, 425, 429];

/** A refused key, an unknown model or a redirect stays the same a second later. */
function mayPass(result: TargetResult): boolean {
  if (typeof result !== 'number') return true;
  return result >= 500 || PASSING.includes(result);
}

function pause(clock: Clock, ms: number, signal: EndSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(ms, resolve);
  signal.addEventListener('abort', resolve);
  return promise.finally(() => {
    timer.cancel();
    signal.removeEventListener('abort', resolve);
  });
}

interface Raced<Answer> {
  /** The outcome that decides how the call continues. */
  readonly tried: TargetOutcome<Answer>;
  /** Failures before that. */
  readonly earlier: readonly TargetOutcome<Answer>[];
  /** The second target was called or skipped. */
  readonly isHedged: boolean;
  /** The other call was still running, and was aborted. */
  readonly isRunning: boolean;
}

interface HedgedTargets {
  readonly target: AliasTarget;
  readonly second: AliasTarget;
  readonly hedgeMs: number;
}

/**
 * Tries two targets for one call: the second only if the first has neither answered nor failed in time. The first
 * answer is taken. The other call is aborted: its provider sees that immediately, and neither breaker nor target counts
 * it.
 */
async function tryHedged<Request extends ModelRequest, Answer>(
  parts: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  { target, second, hedgeMs }: HedgedTargets,
  caller: EndSignal,
): Promise<Raced<Answer>> {
  const start = (one: AliasTarget) => {
    const abort = linkedAbort(caller);
    const outcome = tryTarget(parts, kind, request, one, abort);
    return { abort, outcome, ended: outcome.then((tried) => ({ tried, abort })) };
  };
  const first = start(target);
  const late = Promise.withResolvers<null>();
  const timer = parts.clock.after(hedgeMs, () => late.resolve(null));
  const alone = await Promise.race([first.ended, late.promise]);
  timer.cancel();
  if (alone !== null) return { tried: taken(alone), earlier: [], isHedged: false, isRunning: false };
  const other = start(second);
  const quicker = await Promise.race([first.ended, other.ended]);
  const slower = quicker.abort === first.abort ? other : first;
  if (!isFinal(request.alias, quicker.tried)) {
    const earlier = [taken(quicker)];
    return { tried: taken(await slower.ended), earlier, isHedged: true, isRunning: false };
  }
  slower.abort.abort();
  slower.abort.unlink();
  // It may have answered at the same moment.
  void slower.outcome.then((tried) => {
    if (tried.outcome === 'request-refused') discard(tried.answer);
    if (tried.outcome === 'answered' && kind.whole === null) discard(tried.answer as never);
  }, ignore);
  return { tried: taken(quicker), earlier: [], isHedged: true, isRunning: true };

  /** The caller's signal must still end an answer that has not been read yet. */
  function taken({ tried, abort }: { readonly tried: TargetOutcome<Answer>; readonly abort: LinkedAbort }) {
    if (kind.whole !== null || !('answer' in tried)) abort.unlink();
    return tried;
  }
}

function ignore(): void {}

interface LinkedAbort extends CallAbort {
  /** The caller's abort no longer ends this one. */
  unlink(): void;
}

function linkedAbort(caller: EndSignal): LinkedAbort {
  const own = createCallAbort();
  caller.addEventListener('abort', own.abort);
  return Object.assign(own, { unlink: () => caller.removeEventListener('abort', own.abort) });
}
