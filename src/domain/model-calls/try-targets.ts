import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type {
  EndSignal,
  ModelEndpoint,
  ModelUpstream,
  UpstreamAnswer,
  UpstreamFailure,
} from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { type Entry, serviceOf } from '../breakers/breaker.ts';
import type { Breakers } from '../breakers/breakers.ts';
import type { Alias, AliasTarget, TargetStates } from '../models/aliases.ts';
import { createCallAbort } from './call-abort.ts';
import { breakerResult, type FailureRule, reasonFor, ruleFor, type TargetResult } from './failure-policy.ts';
import { withRequestFault } from './provider-error.ts';

export interface TryTargetsParts {
  readonly models: TargetStates;
  readonly upstream: ModelUpstream;
  /** One for each provider: a provider that keeps failing is not called for a while. */
  readonly breakers: Pick<Breakers, 'enter'>;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** One call of a model. */
export interface ModelRequest {
  readonly alias: Alias;
  readonly endpoint: ModelEndpoint;
}

/** How the calls of one kind are made. The gateway's is a constant: nothing of it is built for each call. */
export interface CallKind<Request extends ModelRequest, Answer> {
  /** By weight, those that rest last; or in the order of the catalogue. */
  readonly order: 'weighted' | 'as-listed';
  readonly uses: 'all' | 'providers' | 'embedded';
  bodyFor(request: Request, target: AliasTarget): Uint8Array<ArrayBuffer>;
  headersFor?(request: Request, target: AliasTarget): Readonly<Record<string, string>>;
  /** Runs when a try came to nothing. */
  onFailure?(request: Request, reason: string): void;
  /** What the log line of a failed target says besides. */
  logFields?(request: Request): Readonly<Record<string, unknown>>;
  /** Null takes the answer unread, at its status; then Answer is UpstreamAnswer. */
  readonly whole: WholeAnswer<Answer> | null;
}

/** An answer that is read whole before it counts as one. */
interface WholeAnswer<Answer> {
  readonly maxBytes: number;
  /** Until the last byte. */
  readonly timeoutMs: number;
  /** `status` leaves the time until then to the upstream's own time-out. */
  readonly timedFrom: 'send' | 'status';
  /** Null, or a throw, where it is no answer of the endpoint. */
  parse(text: string): Answer | null;
}

export type Tried<Answer> =
  | {
      readonly outcome: 'answered';
      readonly target: AliasTarget;
      readonly answer: Answer;
      /** For a caller that took the answer unread, where it breaks off later. Null for the embedded models. */
      readonly noteBroken: NoteBroken | null;
    }
  /** The request is at fault. The body is unread where the kind takes answers unread. */
  | { readonly outcome: 'request-refused'; readonly target: AliasTarget; readonly answer: UpstreamAnswer }
  /** Every target that was asked has failed; id and reason are the last one's. */
  | {
      readonly outcome: 'failed';
      readonly targetId: string;
      readonly reason: string;
      /** Of all targets: each answered 429, or each refused our key or model name; else `other`. */
      readonly cause: 'rate-limit' | 'refused' | 'other';
      /** The longest wait that a failed target named; null where none did. */
      readonly retryAfterMs: number | null;
    }
  /** No target was asked: the breakers of all are open, or there is none (null). */
  | { readonly outcome: 'not-tried'; readonly retryAfterMs: number | null }
  | { readonly outcome: 'aborted'; readonly targetId: string | null };

/**
 * What became of an answer after its status. The provider's breaker counts it as a failure: the connection broke, or
 * nothing came in time. An error within the answer counts as the status that it stands for, and cools the target.
 */
export type NoteBroken = (result: 'broken-off' | 'late' | 429 | 529) => void;

/**
 * Tries the targets of a model one after the other until one answers, by the table in failure-policy.ts. A target whose
 * provider's breaker is open is passed over.
 */
export async function tryTargets<Request extends ModelRequest, Answer>(
  given: TryTargetsParts,
  kind: CallKind<Request, Answer>,
  request: Request,
  signal: EndSignal,
): Promise<Tried<Answer>> {
  const parts = withOwnStates(given, request.alias);
  const { whole } = kind;
  const targets = targetsFor(parts, kind, request.alias);
  let failed: FailedTry | null = null;
  /** Until the first of the open breakers is tried again. */
  let retryAfterMs: number | null = null;
  for (const target of targets) {
    if (signal.aborted) return { outcome: 'aborted', targetId: failed?.targetId ?? null };
    const entry = await entered(parts, target);
    if (entry?.outcome === 'rejected') {
      retryAfterMs = Math.min(retryAfterMs ?? entry.retryAfterMs, entry.retryAfterMs);
      continue;
    }
    const body = kind.bodyFor(request, target);
    const headers = kind.headersFor?.(request, target) ?? NO_HEADERS;
    const deadline = whole === null ? null : createDeadline(parts.clock, signal, whole);
    let answer: UpstreamAnswer | null = null;
    let read: Answer | null = null;
    let result: TargetResult;
    let error: unknown = null;
    try {
      const sent = { endpoint: request.endpoint, body, headers, signal: deadline?.signal ?? signal };
      answer = await parts.upstream.send(target, sent);
      if (isReadableError(answer)) answer = await withRequestFault(answer);
      result = answer.status;
      if (whole !== null && deadline !== null && ruleFor(result).action === 'take') {
        read = parsed(whole, await readWhole(answer, whole, deadline));
        if (read === null) result = 'unreadable';
      }
    } catch (thrown) {
      error = thrown;
      result = failureOf(error, answer, signal, deadline);
    } finally {
      deadline?.cancel();
    }
    const rule = ruleOf(result, answer);
    entry?.report(breakerResult(rule, result));
    noteTarget(parts, rule, target, result, answer);
    if (rule.action === 'take') {
      // An answer that is not to be read is taken as it is.
      return {
        outcome: 'answered',
        target,
        answer: read ?? (answer as Answer),
        noteBroken: whole === null ? brokenReport(parts, target, entry) : null,
      };
    }
    const reason = reasonFor(result);
    kind.onFailure?.(request, reason);
    if (result === 'aborted') return { outcome: 'aborted', targetId: target.id };
    if (rule.action === 'stop' && answer !== null) {
      if (whole !== null) discard(answer);
      return { outcome: 'request-refused', target, answer };
    }
    if (answer !== null) discard(answer);
    const alias = request.alias.alias;
    const more = { ...problemIn(error), ...kind.logFields?.(request) };
    parts.log.warn('a model target failed', { alias, targetId: target.id, reason, ...more });
    failed = failedWith(failed, target, result, answer);
  }
  if (failed === null) return { outcome: 'not-tried', retryAfterMs };
  // A target whose breaker is open was not asked: then not every one has answered 429.
  return retryAfterMs === null ? failed : { ...failed, cause: 'other' };
}

/** What a company's own key meets at a provider is noted of that key alone. */
function withOwnStates(parts: TryTargetsParts, { ownKey }: Alias): TryTargetsParts {
  return ownKey === undefined ? parts : { ...parts, models: ownKey.states };
}

function isReadableError({ status, contentType }: UpstreamAnswer): boolean {
  return status >= 500 && contentType === 'application/json';
}

type FailedTry = Extract<Tried<unknown>, { outcome: 'failed' }>;

/** Together with those that failed before it. */
function failedWith(
  before: FailedTry | null,
  { id: targetId }: AliasTarget,
  result: TargetResult,
  answer: UpstreamAnswer | null,
): FailedTry {
  const cause = causeOf(result);
  return {
    outcome: 'failed',
    targetId,
    reason: reasonFor(result),
    cause: before === null || before.cause === cause ? cause : 'other',
    retryAfterMs: longerOf(before?.retryAfterMs ?? null, answer?.retryAfterMs ?? null),
  };
}

const REFUSED: readonly TargetResult[] = [401, 402, 403, 404, 407];

function causeOf(result: TargetResult): FailedTry['cause'] {
  if (result === 429) return 'rate-limit';
  return REFUSED.includes(result) ? 'refused' : 'other';
}

function longerOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
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

function targetsFor<Request extends ModelRequest, Answer>(
  { models, secrets }: TryTargetsParts,
  { order, uses }: CallKind<Request, Answer>,
  alias: Alias,
): readonly AliasTarget[] {
  const ordered = order === 'weighted' ? models.order(alias, drawFor(alias, secrets)) : alias.targets;
  if (uses === 'all') return ordered;
  return ordered.filter(({ baseUrl }) => (baseUrl === null) === (uses === 'embedded'));
}

/** Of one target there is nothing to draw: randomness is the dearest part of choosing. */
function drawFor({ targets }: Alias, secrets: Pick<Secrets, 'randomBytes'>): number {
  return targets.length === 1 ? 0 : randomFraction(secrets);
}

/** From 0 up to, not including, 1. */
function randomFraction(secrets: Pick<Secrets, 'randomBytes'>): number {
  const [a = 0, b = 0, c = 0] = secrets.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}

/** An answer that no provider gave says nothing about one. */
function ruleOf(result: TargetResult, answer: UpstreamAnswer | null): FailureRule {
  const rule = ruleFor(result);
  return answer?.isOurs === true ? { ...rule, breaker: 'ignored', target: 'unchanged' } : rule;
}

/** Null for the embedded models, which need no breaker. A closed one answers at once, without a promise. */
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

/** `answer`: of a try that failed after its status. */
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

/** What an upstream's client says about a failure, for the operator: it has no secret and nothing of the call in it. */
function problemIn(error: unknown): { readonly problem?: string } {
  const cause = error instanceof Error && error.name === 'UpstreamFailure' ? error.cause : null;
  return cause instanceof Error ? { problem: cause.message } : {};
}

function discard({ body }: UpstreamAnswer): void {
  body.cancel();
}

/** The time that an answer has. */
interface Deadline {
  /** Aborts when the caller's does, and when the time is up. */
  readonly signal: EndSignal;
  isPast(): boolean;
  /** The status is there. */
  noteStatus(): void;
  cancel(): void;
}

function createDeadline(
  clock: Clock,
  caller: EndSignal,
  { timeoutMs, timedFrom }: Pick<WholeAnswer<unknown>, 'timeoutMs' | 'timedFrom'>,
): Deadline {
  const signal = createCallAbort();
  let isPast = false;
  caller.addEventListener('abort', signal.abort);
  const start = () =>
    clock.after(timeoutMs, () => {
      isPast = true;
      signal.abort();
    });
  let timer = timedFrom === 'send' ? start() : null;
  return {
    signal,
    isPast: () => isPast,
    noteStatus() {
      timer ??= start();
    },
    cancel() {
      timer?.cancel();
      caller.removeEventListener('abort', signal.abort);
    },
  };
}

/** Null where it is larger than it may be. Rejects where the upstream breaks off, and when the time is up. */
async function readWhole(
  { body }: UpstreamAnswer,
  { maxBytes }: Pick<WholeAnswer<unknown>, 'maxBytes'>,
  deadline: Deadline,
): Promise<string | null> {
  deadline.noteStatus();
  const ended = Promise.withResolvers<'broken'>();
  const end = () => ended.resolve('broken');
  deadline.signal.addEventListener('abort', end);
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for (;;) {
      const next = await Promise.race([body.read(Number.POSITIVE_INFINITY), ended.promise]);
      if (next === null) return text + decoder.decode();
      if (typeof next === 'string') throw new Error('the answer broke off');
      size += next.length;
      if (size > maxBytes) return null;
      text += decoder.decode(next, { stream: true });
    }
  } finally {
    deadline.signal.removeEventListener('abort', end);
    // Of an answer that has ended this does nothing.
    body.cancel();
  }
}

function parsed<Answer>({ parse }: WholeAnswer<Answer>, text: string | null): Answer | null {
  if (text === null) return null;
  try {
    return parse(text);
  } catch {
    return null;
  }
}
