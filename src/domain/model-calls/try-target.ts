import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type {
  BodyRead,
  EndSignal,
  ModelEndpoint,
  ModelUpstream,
  UpstreamAnswer,
  UpstreamBody,
  UpstreamCall,
  UpstreamFailure,
} from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { type Entry, serviceOf } from '../breakers/breaker.ts';
import type { Breakers } from '../breakers/breakers.ts';
import type { Alias, AliasTarget, TargetStates } from '../models/aliases.ts';
import { breakerResult, type FailureRule, reasonFor, ruleFor, type TargetResult } from './failure-policy.ts';
import { type ProviderError, readRefusal, withMeantStatus } from './provider-error.ts';
import { createDeadline, type Deadline, parsed, readWhole, type WholeAnswer } from './whole-answer.ts';

export interface TryTargetsParts {
  readonly models: TargetStates;
  readonly upstream: ModelUpstream;
  /** One for each provider: a provider that keeps failing is not called for a while. */
  readonly breakers: Pick<Breakers, 'enter'>;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call of a model. */
export interface ModelRequest {
  /** The alias whose targets are tried: first the requested one, then each of the fallbacks. */
  readonly alias: Alias;
  /** The aliases that answer if the first cannot, in order; omitted if there are none. */
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly endpoint: ModelEndpoint;
  readonly isStream?: boolean;
}

/** How calls of one kind are made. The gateway's is a constant: nothing of it is built per call. */
export interface CallKind<Request extends ModelRequest, Answer> {
  /** By the alias's strategy with resting targets last, or in the order of the catalogue. */
  readonly order: 'weighted' | 'as-listed';
  readonly uses: 'all' | 'providers' | 'embedded';
  bodyFor(request: Request, target: AliasTarget): Uint8Array<ArrayBuffer>;
  headersFor?(request: Request, target: AliasTarget): Readonly<Record<string, string>>;
  /** The `hold` of the calls. */
  holdFor?(request: Request): UpstreamCall['hold'];
  /** Runs after a failed attempt. */
  onFailure?(request: Request, reason: string, target: AliasTarget): void;
  /** Extra fields for the log line of a failed target. */
  logFields?(request: Request): Readonly<Record<string, unknown>>;
  /** Null accepts the answer unread, at its status; Answer is then UpstreamAnswer. */
  readonly whole: WholeAnswer<Answer> | null;
}

/** The outcome of one attempt at a target. `tries` is set by the loop, over all targets. */
export type TargetOutcome<Answer> = Ending<Answer> | FailedAttempt;

export type Ending<Answer> =
  | {
      readonly outcome: 'answered';
      readonly target: AliasTarget;
      /** The alias that the target belongs to: the requested one or a fallback. */
      readonly alias: Alias;
      readonly answer: Answer;
      /**
       * Reports that an answer that was accepted unread broke off later. Null if it was read whole, and for the
       * embedded models.
       */
      readonly noteBroken: NoteBroken | null;
      tries: number;
    }
  /** The request is at fault. The body is unread if the kind accepts answers unread. */
  | {
      readonly outcome: 'request-refused';
      readonly target: AliasTarget;
      readonly answer: UpstreamAnswer;
      /** The provider's error, if the kind reads answers whole. */
      readonly error?: ProviderError | null;
      tries: number;
    }
  | { readonly outcome: 'aborted'; readonly targetId: string | null; tries: number };

/** The next target is tried. */
export type FailedAttempt =
  | {
      readonly outcome: 'failed-try';
      readonly target: AliasTarget;
      readonly result: TargetResult;
      readonly retryAfterMs: number | null;
      /** The time-out that was reached while its status was awaited; null if it failed otherwise. */
      readonly limitMs: number | null;
    }
  /** It was not called: its provider's breaker is open, or it is at its limit of calls in flight. */
  | { readonly outcome: 'passed-over'; readonly retryAfterMs: number };

/**
 * How an answer failed after its status. A broken connection or a time-out counts as a failure for the provider's
 * breaker. An error within the answer counts as the corresponding status, and cools the target.
 */
export type NoteBroken = (result: 'broken-off' | 'late' | 401 | 429 | 529) => void;

/** When a target that is at its limit of calls in flight may be free again. */
const AT_LIMIT_RETRY_MS = 1_000;
const AT_LIMIT = { outcome: 'passed-over', retryAfterMs: AT_LIMIT_RETRY_MS } as const;

/** One attempt at one target: its calls in flight, its provider's breaker, the call, and what each of them counts. */
export function tryTarget<Request extends ModelRequest, Answer>(
  parts: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  target: AliasTarget,
  signal: EndSignal,
): Promise<TargetOutcome<Answer>> {
  return target.maxInFlight === undefined
    ? tryOnce(parts, kind, request, target, signal)
    : tryWithinLimit(parts, kind, request, target, signal);
}

/** A call is in flight until its answer has ended, even if the caller reads it later. */
async function tryWithinLimit<Request extends ModelRequest, Answer>(
  parts: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  target: AliasTarget,
  signal: EndSignal,
): Promise<TargetOutcome<Answer>> {
  const { flights } = parts.models;
  if (!flights.enter(target)) return AT_LIMIT;
  let isOver = true;
  try {
    const tried = await tryOnce(parts, kind, request, target, signal);
    if (kind.whole !== null || !('answer' in tried)) return tried;
    isOver = false;
    const answer = tried.answer as UpstreamAnswer;
    const body = endingBody(answer.body, signal, () => flights.leave(target));
    return { ...tried, answer: { ...answer, body } } as TargetOutcome<Answer>;
  } finally {
    if (isOver) flights.leave(target);
  }
}

/** Reports the end of a body once, however it ends. */
function endingBody(body: UpstreamBody, signal: EndSignal, onEnd: () => void): UpstreamBody {
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    signal.removeEventListener('abort', end);
    onEnd();
  };
  const noted = (read: BodyRead): BodyRead => {
    if (read === null || read === 'broken') end();
    return read;
  };
  signal.addEventListener('abort', end);
  return {
    read(idleMs) {
      const read = body.read(idleMs);
      return read instanceof Promise ? read.then(noted) : noted(read);
    },
    cancel() {
      end();
      body.cancel();
    },
    lacksUsage: () => body.lacksUsage?.() === true,
  };
}

async function tryOnce<Request extends ModelRequest, Answer>(
  parts: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  target: AliasTarget,
  signal: EndSignal,
): Promise<TargetOutcome<Answer>> {
  const { whole } = kind;
  const entering = entered(parts, target);
  const entry = entering instanceof Promise ? await entering : entering;
  if (entry?.outcome === 'rejected') return { outcome: 'passed-over', retryAfterMs: entry.retryAfterMs };
  const body = kind.bodyFor(request, target);
  const headers = kind.headersFor?.(request, target) ?? NO_HEADERS;
  const deadline = whole === null ? null : createDeadline(parts.clock, signal, whole);
  const timing = timingOf(parts, request, target);
  let answer: UpstreamAnswer | null = null;
  let read: Answer | null = null;
  let result: TargetResult;
  let error: unknown = null;
  try {
    const { endpoint, isStream = false } = request;
    const sent = { endpoint, body, headers, signal: deadline?.signal ?? signal, isStream };
    const hold = kind.holdFor?.(request);
    answer = await parts.upstream.send(target, hold === undefined ? sent : { ...sent, hold });
    timing?.(answer.status);
    if (isReadableError(answer)) answer = await withMeantStatus(answer, parts.clock);
    result = answer.status;
    if (whole !== null && deadline !== null && ruleFor(result).action === 'take') {
      read = parsed(whole, await readWhole(answer, whole, deadline), target);
      if (read === null) result = 'unreadable';
    }
  } catch (thrown) {
    error = thrown;
    result = failureOf(error, answer, signal, deadline);
    if (answer === null) timing?.(result);
  } finally {
    deadline?.cancel();
  }
  const rule = ruleOf(result, answer);
  entry?.report(breakerResult(rule, result));
  noteTarget(parts, rule, target, result, answer);
  if (rule.action === 'take') {
    return {
      outcome: 'answered',
      target,
      alias: request.alias,
      // Without `whole` the answer is passed on unread.
      answer: read ?? (answer as Answer),
      noteBroken: whole === null ? brokenReport(parts, target, entry) : null,
      tries: 1,
    };
  }
  const reason = reasonFor(result);
  kind.onFailure?.(request, reason, target);
  if (result === 'aborted') return { outcome: 'aborted', targetId: target.id, tries: 1 };
  if (rule.action === 'stop' && answer !== null) {
    if (whole === null) return { outcome: 'request-refused', target, answer, tries: 1 };
    const error = await readRefusal(answer, parts.clock);
    return { outcome: 'request-refused', target, answer, error, tries: 1 };
  }
  if (answer !== null) discard(answer);
  // A local fault is the same for every call, and what has found it logs it once a minute.
  if (result !== 'local') {
    const { id: targetId } = target;
    const more = { ...problemIn(error, target), ...kind.logFields?.(request) };
    parts.log.warn('a model target failed', { alias: request.alias.alias, targetId, reason, ...more });
  }
  const { limitMs = null } = (error ?? {}) as Partial<UpstreamFailure>;
  return { outcome: 'failed-try', target, result, retryAfterMs: answer?.retryAfterMs ?? null, limitMs };
}

function isReadableError({ status, contentType }: UpstreamAnswer): boolean {
  return (status === 400 || status >= 500) && contentType === 'application/json';
}

/**
 * Notes how long the status took, for aliases that are routed by latency; null for others. Errors are not noted: they
 * arrive faster than answers.
 */
function timingOf(
  { models: { latency }, clock }: TryTargetsParts,
  { alias, isStream = false }: ModelRequest,
  { id }: AliasTarget,
): ((result: TargetResult) => void) | null {
  if (alias.routing?.strategy !== 'latency') return null;
  const sentMs = clock.uptimeMs();
  return (result) => {
    const ms = clock.uptimeMs() - sentMs;
    if (typeof result === 'number') {
      if (ruleFor(result).action === 'take') latency.note(id, isStream, ms);
    } else if (result === 'aborted' || result === 'first-byte-time-out')
      latency.noteAtLeast(id, isStream, ms);
  };
}

function brokenReport(parts: TryTargetsParts, target: AliasTarget, entry: Entry | null): NoteBroken | null {
  if (entry === null || entry.outcome !== 'enter') return null;
  return (result) => {
    const rule = ruleFor(result);
    entry.report(breakerResult(rule, result));
    if (typeof result === 'number') noteTarget(parts, rule, target, result, null);
  };
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** An answer that did not come from a provider says nothing about one. */
function ruleOf(result: TargetResult, answer: UpstreamAnswer | null): FailureRule {
  const rule = ruleFor(result);
  return answer?.isOurs === true ? { ...rule, breaker: 'ignored', target: 'unchanged' } : rule;
}

/** Null for the embedded models, which need no breaker. A closed breaker returns immediately, without a promise. */
function entered({ breakers }: TryTargetsParts, target: AliasTarget): Entry | null | Promise<Entry> {
  const service = serviceOf(target);
  return service === null ? null : breakers.enter(service);
}

function noteTarget(
  { models }: TryTargetsParts,
  rule: FailureRule,
  { id }: AliasTarget,
  result: TargetResult,
  answer: UpstreamAnswer | null,
): void {
  if (rule.target === 'success') models.noteSuccess(id);
  else if (rule.target === 'failure') models.noteFailure(id);
  else if (rule.target === 'cools') models.cool(id, String(result), answer?.retryAfterMs ?? null);
}

/** `answer` is set if the attempt failed after its status. */
function failureOf(
  error: unknown,
  answer: UpstreamAnswer | null,
  signal: EndSignal,
  deadline: Deadline | null,
): TargetResult {
  if (signal.aborted) return 'aborted';
  if (deadline?.isPast() === true) return 'late';
  if (answer !== null) return 'broken-off';
  const { reason = 'broken' } = error as Partial<UpstreamFailure>;
  return reason === 'aborted' ? 'broken' : reason;
}

/** The upstream client's description of a failure, for the operator. It contains no secret and nothing of the call. */
function problemIn(error: unknown, { timeoutMs }: AliasTarget): { readonly problem?: string } {
  const { limitMs } = (error ?? {}) as Partial<UpstreamFailure>;
  if (limitMs !== undefined) {
    const limit = timeoutMs === undefined ? 'UPSTREAM_FIRST_BYTE_TIMEOUT_MS' : 'timeout_ms of the target';
    return { problem: `no answer within ${limitMs} ms (${limit})` };
  }
  const cause = error instanceof Error && error.name === 'UpstreamFailure' ? error.cause : null;
  return cause instanceof Error ? { problem: cause.message } : {};
}

export function discard({ body }: UpstreamAnswer): void {
  body.cancel();
}
