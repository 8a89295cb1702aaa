import type { PayloadContent } from '../../domain/call-payloads/call-payloads.ts';
import type { AnswerToKeep, IdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import type { IdempotentClaim } from '../../domain/calls/idempotency/key-claims.ts';
import {
  elapsedMs,
  type FinishedCall,
  type ResponseRecord,
} from '../../domain/calls/settlement/finished-call.ts';
import type { CallBook, Settled } from '../../domain/calls/settlement/settle-call.ts';
import { budgetsOfCall } from '../../domain/credits/budgets/call-budgets.ts';
import type { BillingStatus, BillingStatuses } from '../../domain/credits/holds/billing-status.ts';
import type { CreditHolds } from '../../domain/credits/holds/holds.ts';
import type { AbandonedStreams } from '../../domain/limits/abandoned-streams.ts';
import { createKeyReports, REPORT_WITHIN_MS } from '../../domain/limits/key-reports.ts';
import type { UnpricedCalls } from '../../domain/limits/unpriced-calls.ts';
import type { CallAbort } from '../../domain/model-calls/call-abort.ts';
import {
  type CallEnding,
  recordOf,
  releaseCall,
  type Served,
  tokensToCount,
} from '../../domain/model-calls/paid-call.ts';
import type { NoteBroken } from '../../domain/model-calls/try-target.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { StoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import type { Connection } from '../../http/listen.ts';
import type { MemoryShare } from '../../http/memory-limit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { ReasoningCount, UpstreamAnswer, UpstreamTarget } from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type {
  Admission,
  AdmissionStep,
  AdmittedModelCall,
  AdmittedPaidCall,
  AdmittedRead,
  AdmittedReplay,
  Refused,
} from '../admission/admit.ts';
import { REFUSALS, type Refusal, refusalStatus } from '../admission/refusals.ts';
import type { KeepAlive } from '../streaming/keep-alive.ts';
import { countUnpriced } from './answer-costs.ts';
import type { AnswerCopy, AnswerRecorder } from './answer-recorder.ts';

/** Required to end a call. */
export interface EndParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly calls: CallBook;
  readonly holds: CreditHolds;
  readonly billingStatuses: BillingStatuses;
  readonly idempotency: IdempotentCalls;
  readonly unpricedCalls: UnpricedCalls;
  /** Undefined if only answers of idempotent calls are stored. */
  readonly answerRecorder?: AnswerRecorder;
}

/** Additionally required to answer a call. */
export interface AnswerParts extends EndParts {
  readonly unpaidEndings: UnpaidEndings;
  readonly abandoned: AbandonedStreams;
  /** Whether streams include a usage chunk that the client did not request, unless the key has its own setting. */
  readonly streamUsageChunk?: 'always' | 'asked';
  readonly responses: StoredResponses;
  readonly secrets: Pick<Secrets, 'newId'>;
  /** Between two chunks of an answer, for targets without a time-out of their own. */
  readonly idleTimeoutMs: number;
  readonly keepAlive: KeepAlive;
}

export interface ModelCallContext {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Undefined for REST. */
  readonly overMcp?: true | undefined;
  /** Aborts when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** The client's connection; undefined if the answer is read in this process. */
  readonly connection?: Pick<Connection, 'mayBeSilent' | 'mustBeRead'>;
  /** The client's headers that are forwarded to the provider. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** Headers of every response to this call. */
  readonly headers: Record<string, string>;
  /** Set after the targets were tried, if the answer is not from the first attempt at the requested alias. */
  served?: Served | undefined;
  /** Null if this call is not traced. */
  readonly trace?: CallTrace | null;
  /** The memory of a large body; undefined for nearly every call. */
  readonly bodyShare?: MemoryShare | undefined;
}

/**
 * The trace of one call, in OpenTelemetry's terms: the request, its admission, each attempt at a provider and the
 * settlement. Tokens, models and ids; never a key, and prompts and answers only if key and operator have opted in.
 * Nothing of it runs while tracing is off.
 */
export interface CallTrace {
  /** Without `this`: it is passed to admission as a function. */
  readonly step: (step: AdmissionStep) => void;
  admitted(admission: Admission): void;
  /** An attempt starts; returns the trace headers for the provider. */
  trying(call: AdmittedModelCall, target: UpstreamTarget): Readonly<Record<string, string>>;
  /** The head of its response has arrived. */
  begun(target: UpstreamTarget): void;
  /** The attempt failed. */
  failed(reason: string, target: UpstreamTarget): void;
  /** An answer that is not streamed. */
  whole(answer: Uint8Array): void;
  /**
   * The model has answered completely, or will not; `priced` is the alias whose price is charged. With `waits`, its
   * span, or the request's if no model answered, is sent once `addContent` is called.
   */
  ended(record: FinishedCall, priced: Alias, waits: boolean): void;
  /** The prompt and answer, redacted and cut; null if they are lost. */
  addContent(content: PayloadContent | null): void;
  /** The statement that contains the call was sent; the time before was spent waiting for the running commit. */
  readonly committing: () => void;
  /** The call's row is written, or could not be. */
  settled(outcome: string): void;
  /** What it held is released. */
  released(): void;
  /** For a request that calls no model. */
  answered(status: number): void;
}

export interface Answering {
  readonly parts: AnswerParts;
  readonly call: AdmittedModelCall;
  readonly context: ModelCallContext;
  readonly target: UpstreamTarget;
  readonly answer: UpstreamAnswer;
  /** What the provider charges is for the owner of its key: the operator, unless the company has its own. */
  readonly hidesCosts: boolean;
  /** Where the target counts reasoning, if that cannot be read from its numbers. */
  readonly reasoning: ReasoningCount | undefined;
  /** Only for failures that no client can cause: a whole answer that breaks off, or a stream before its first event. */
  readonly noteBroken: NoteBroken | null;
  readonly end: EndCall;
  readonly firstByteMs: number;
  readonly upstreamAbort: CallAbort;
}

/** Ends a call: its row is committed and what it reserved is settled. True if the row is written. */
export type EndCall = (ending: AnsweredEnding) => Promise<boolean>;

/** How long the target may be silent within its answer. */
export function idleTimeoutOf({ parts, target }: Pick<Answering, 'parts' | 'target'>): number {
  return target.idleTimeoutMs ?? parts.idleTimeoutMs;
}

/** For the operator: which limit ended the answer, and its value. */
export function logSilence({ parts, call, context, target }: Answering): void {
  const limit =
    target.idleTimeoutMs === undefined ? 'UPSTREAM_IDLE_TIMEOUT_MS' : 'idle_timeout_ms of the target';
  parts.log.warn('a model target stopped sending its answer', {
    ...{ alias: call.alias.alias, targetId: target.id, callId: call.id, requestId: context.requestId },
    problem: `nothing within ${idleTimeoutOf({ parts, target })} ms (${limit})`,
  });
}

export type EndedResponse = ResponseRecord | Promise<ResponseRecord | null> | null;

interface AnsweredEnding extends CallEnding {
  /** Only for a call with an idempotency key. */
  readonly answer?: AnswerToKeep;
  /** Only for a call whose answer is stored for another reason. */
  readonly copy?: AnswerCopy | undefined;
  /** The answer is complete, and all of it was passed on. */
  readonly isWhole?: boolean;
  /** Recorded with the call; null if it created no response that can be continued. */
  readonly response?: EndedResponse;
}

/** Several events can end a call; only the first takes effect. */
export function createEnd(parts: EndParts, begun: AdmittedPaidCall, context: ModelCallContext): EndCall {
  let ended: Promise<boolean> | null = null;
  return (ending) => {
    ended ??= endOnce(ending);
    return ended;
  };
  /**
   * The commit comes first. Then what the call holds is released together with the levels that the commit left: the
   * hold is never released before the charge exists, and a client that calls again finds nothing of its own held. A
   * call that is journaled or deferred keeps its credits held until it is in the database.
   */
  async function endOnce(ending: AnsweredEnding): Promise<boolean> {
    const { holds, billingStatuses } = parts;
    const latest = billingStatuses.latest(begun.payer.companyId);
    const call = withBudgets(begun, latest instanceof Promise ? await latest : latest);
    const { route, fields } = call;
    const { requestId } = context;
    const { prompts, choices, maxTokens } = 'input' in fields ? fields.size : fields;
    const response = ending.response instanceof Promise ? await ending.response : ending.response;
    const record = recordOf(
      call,
      {
        requestId,
        endpoint: route.endpoint,
        streamed: fields.stream,
        nowMs: parts.clock.now(),
        prompts,
        choices,
        maxTokens,
        attribution: call.attribution,
        served: context.served,
        overMcp: context.overMcp,
        response: response ?? undefined,
      },
      ending,
    );
    // Awaited after the commit: the next call of a client that has its answer meets the count.
    const counting = record.unpriced === undefined ? null : countUnpriced(parts.unpricedCalls, record);
    const tokens = tokensToCount(record);
    context.trace?.ended(
      record,
      record.pricedAs === undefined ? (context.served?.by ?? call.alias) : call.alias,
      parts.answerRecorder?.isTraced(call) ?? false,
    );
    const settled = await (call.claim === null
      ? written(record)
      : writtenWithAnswer(record, call.claim, ending.answer ?? null));
    if (counting !== null) await counting;
    context.trace?.settled(settled.outcome);
    context.bodyShare?.release();
    if (call.claim !== null) parts.idempotency.ended(call.claim, settled);
    const storing = parts.answerRecorder?.ended(call, record, ending, context.trace) ?? null;
    if (storing !== null) await storing;
    await releaseCall(holds, call, tokens, chargeOf(settled));
    context.trace?.released();
    if (settled.outcome !== 'not-written') return true;
    parts.log.error('a call could not be written', { callId: call.id, error: settled.error });
    return false;
  }
  function written(record: FinishedCall): Promise<Settled> {
    return parts.calls.settle(record, context.trace?.committing).catch(notWritten);
  }
  async function writtenWithAnswer(
    record: FinishedCall,
    claim: IdempotentClaim,
    answer: AnswerToKeep | null,
  ): Promise<Settled> {
    try {
      const withAnswer = await parts.idempotency.withAnswer(claim, record, answer);
      return await parts.calls.settle(withAnswer, context.trace?.committing);
    } catch (error) {
      return notWritten(error);
    }
  }
}

/** With the budgets that are in force when it ends: one may have been set or changed while it ran. */
function withBudgets(call: AdmittedPaidCall, status: BillingStatus | null): AdmittedPaidCall {
  const { payer, attribution } = call;
  if (status === null || (status.budgets === null && payer.budgets === undefined)) return call;
  const keyId = payer.spendingKeyId ?? payer.keyId;
  const of = { keyId, project: attribution?.project ?? null, endUser: attribution?.endUser };
  const budgets = status.budgets === null ? undefined : budgetsOfCall(status.budgets, of);
  return { ...call, payer: { ...payer, budgets } };
}

/** What the call was charged, or will be; null if it is not recorded anywhere. */
function chargeOf(settled: Settled): Parameters<typeof releaseCall>[3] {
  if (settled.outcome === 'settled') return settled;
  return settled.outcome === 'not-written' ? null : settled.committed;
}

function notWritten(error: unknown): Settled {
  return { outcome: 'not-written', error };
}

/** For a call that used nothing. */
export function failure(
  reason: string,
  httpStatus: number,
  targetId: string | null,
  firstByteMs: number | null = null,
): CallEnding {
  return { outcome: 'FAILED', reason, httpStatus, targetId, tokens: null, firstByteMs };
}

interface CallClock {
  readonly requestId: string;
  readonly overMcp?: true | undefined;
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/** Null if no key was known: such refusals are counted, not stored. */
export function recordOfRefusal(
  id: string,
  { key, route, alias, refusal, attribution }: RecordedRefusal,
  clock: CallClock,
): FinishedCall | null {
  if (key === null || route === null) return null;
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias };
  return {
    ...base,
    ...untouched(clock),
    outcome: 'REFUSED',
    reason: refusalReason(refusal),
    httpStatus: refusalStatus(refusal),
    endUser: attribution?.endUser,
    tags: attribution?.tags,
    project: attribution?.project,
  };
}

interface RecordedRefusal extends Pick<Refused, 'key' | 'alias' | 'refusal' | 'attribution'> {
  readonly route: { readonly endpoint: FinishedCall['endpoint'] } | null;
}

export function recordOfRead(
  { id, key, route }: AdmittedRead,
  httpStatus: number,
  clock: CallClock,
): FinishedCall {
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias: null };
  const ending = READ_ENDINGS[httpStatus] ?? {
    outcome: httpStatus < 400 ? 'SUCCEEDED' : 'REFUSED',
    reason: httpStatus < 400 ? null : reasonOf(httpStatus),
  };
  return { ...base, ...untouched(clock), ...ending, httpStatus };
}

const READ_ENDINGS: Readonly<Record<number, Pick<FinishedCall, 'outcome' | 'reason'>>> = {
  499: { outcome: 'FAILED', reason: 'client-left' },
};

/** The refusal of a read, by its status. */
function reasonOf(httpStatus: number): string {
  return refusalReason({ name: READ_REFUSALS[httpStatus] ?? 'unavailable' });
}

const READ_REFUSALS: Readonly<Record<number, Refusal['name']>> = {
  400: 'invalidRequest',
  403: 'modelNotAllowed',
  404: 'notFound',
};

/** Recorded like a read: without a model, and in no total. */
export function recordOfReplay(
  { id, key, route }: AdmittedReplay,
  httpStatus: number,
  clock: CallClock,
): FinishedCall {
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias: null };
  return { ...base, ...untouched(clock), outcome: 'SUCCEEDED', reason: 'replayed', httpStatus };
}

export function refusalReason({ name }: Refusal): string {
  return REFUSALS[name].code ?? name;
}

/** For a call that reached no provider. */
function untouched({ requestId, overMcp, startedAtMs, nowMs }: CallClock) {
  return {
    requestId,
    overMcp,
    startedAtMs,
    durationMs: elapsedMs(startedAtMs, nowMs),
    firstByteMs: null,
    targetId: null,
    tokens: null,
    streamed: false,
    estimatedTokens: 0,
    monthlyLimitMicro: null,
  };
}

/**
 * Streams that ended without usage cost the operator and are not charged: a key with many of them is reported (G-31).
 */
interface UnpaidEndings {
  note(keyId: string): void;
}

const SUSPICIOUS_ENDINGS = 5;

export function createUnpaidEndings({ clock, log }: { clock: Clock; log: Log }): UnpaidEndings {
  const reports = createKeyReports({ clock, first: SUSPICIOUS_ENDINGS });
  return {
    note(keyId) {
      const count = reports.note(keyId);
      if (count === null) return;
      const context = { keyId, count, withinMs: REPORT_WITHIN_MS };
      log.warn('streams of a key keep ending without usage and are not charged', context);
    },
  };
}
