import type { PayloadContent } from '../../domain/call-payloads/call-payloads.ts';
import type { AnswerToKeep, IdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import type { IdempotentClaim } from '../../domain/calls/idempotency/key-claims.ts';
import {
  elapsedMs,
  type FinishedCall,
  type ResponseRecord,
} from '../../domain/calls/settlement/finished-call.ts';
import type { CallBook, Settled } from '../../domain/calls/settlement/settle-call.ts';
import type { CreditHolds } from '../../domain/credits/holds/holds.ts';
import type { AbandonedStreams } from '../../domain/limits/abandoned-streams.ts';
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
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { UpstreamAnswer, UpstreamTarget } from '../../ports/model-upstream.ts';
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
import type { AnswerCopy, KeptAnswers } from './kept-answers.ts';

/** What ending a call needs. */
export interface EndParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly calls: CallBook;
  readonly holds: CreditHolds;
  readonly idempotency: IdempotentCalls;
  /** Left out where nothing is stored of answers besides those of idempotent calls. */
  readonly kept?: KeptAnswers;
}

/** What answering a call needs besides. */
export interface AnswerParts extends EndParts {
  readonly unpaidEndings: UnpaidEndings;
  readonly abandoned: AbandonedStreams;
  /** Whether streams show their usage chunk unasked, where the key has no choice of its own. */
  readonly streamUsageChunk?: 'always' | 'asked';
  readonly responses: StoredResponses;
  readonly secrets: Pick<Secrets, 'newId'>;
  /** Between two chunks of an answer. */
  readonly idleTimeoutMs: number;
}

export interface ModelCallContext {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Undefined for REST. */
  readonly overMcp?: true | undefined;
  /** Aborts when the client leaves. */
  readonly clientSignal: AbortSignal;
  /** Where an answer goes to; left out where it is read in this process. */
  readonly connection?: Pick<Connection, 'mayBeSilent' | 'mustBeRead'>;
  /** Those of the client's headers that go on to the provider. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** What every answer to this call carries. */
  readonly headers: Record<string, string>;
  /** Set once the targets were tried, where the first try of the requested alias was not the answer. */
  served?: Served | undefined;
  /** Null where this call is not taken down. */
  readonly trace?: CallTrace | null;
}

/**
 * What is taken down of one call, in OpenTelemetry's names: the request, its admission, each try at a provider and the
 * settlement. Tokens, models and ids; never a key, and what was said only where key and operator have opted in. Nothing of
 * it runs while tracing is off.
 */
export interface CallTrace {
  /** Without `this`: it is handed to admission. */
  readonly step: (step: AdmissionStep) => void;
  admitted(admission: Admission): void;
  /** A try begins; returns the trace headers for the provider. */
  trying(call: AdmittedModelCall, target: UpstreamTarget): Readonly<Record<string, string>>;
  /** The head of its answer is here. */
  begun(target: UpstreamTarget): void;
  /** The try came to nothing. */
  failed(reason: string, target: UpstreamTarget): void;
  /** An answer in one piece. */
  whole(answer: Uint8Array): void;
  /**
   * The model has answered to its end, or will not; `priced` is the alias whose price is charged. With `waits` its span, or the
   * request's where no model answered, is sent once `said` is called.
   */
  ended(record: FinishedCall, priced: Alias, waits: boolean): void;
  /** What was said, redacted and cut; null where it is lost. */
  said(content: PayloadContent | null): void;
  /** The statement with the call is sent: what came before waited for the commit under way. */
  readonly committing: () => void;
  /** The call's row is written, or could not be. */
  settled(outcome: string): void;
  /** What it held is given back. */
  released(): void;
  /** Of a request that calls no model. */
  answered(status: number): void;
}

export interface Answering {
  readonly parts: AnswerParts;
  readonly call: AdmittedModelCall;
  readonly context: ModelCallContext;
  readonly target: UpstreamTarget;
  readonly answer: UpstreamAnswer;
  /** Only for what no client can cause: a whole answer that breaks off, or a stream before its first event. */
  readonly noteBroken: NoteBroken | null;
  readonly end: EndCall;
  readonly firstByteMs: number;
  readonly upstreamAbort: CallAbort;
}

/** Ends a call: its row is committed and what it reserved is settled. True where the row is written. */
export type EndCall = (ending: AnsweredEnding) => Promise<boolean>;

export type EndedResponse = ResponseRecord | Promise<ResponseRecord | null> | null;

interface AnsweredEnding extends CallEnding {
  /** Only of a call with an idempotency key. */
  readonly answer?: AnswerToKeep;
  /** Only of a call whose answer is stored for another reason. */
  readonly copy?: AnswerCopy | undefined;
  /** The answer came to its end, and all of it was passed on. */
  readonly isWhole?: boolean;
  /** Recorded with the call; null where it made no response that can be continued. */
  readonly response?: EndedResponse;
}

/** However many ways lead to the end of a call, it ends once. */
export function createEnd(parts: EndParts, call: AdmittedPaidCall, context: ModelCallContext): EndCall {
  let ended: Promise<boolean> | null = null;
  return (ending) => {
    ended ??= endOnce(ending);
    return ended;
  };
  /**
   * The commit first, then what the call holds is given back together with the levels that the commit left: the hold
   * is never gone before the charge is there, and a client that calls again finds nothing of its own held.
   * A call that is journaled or deferred keeps its credits held until it is in the database.
   */
  async function endOnce(ending: AnsweredEnding): Promise<boolean> {
    const { holds } = parts;
    const { route, fields } = call;
    const { requestId } = context;
    const { prompts, choices } = 'input' in fields ? fields.size : fields;
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
        attribution: call.attribution,
        served: context.served,
        overMcp: context.overMcp,
        response: response ?? undefined,
      },
      ending,
    );
    const tokens = tokensToCount(record);
    context.trace?.ended(record, context.served?.by ?? call.alias, parts.kept?.isTraced(call) ?? false);
    const settled = await (call.claim === null
      ? written(record)
      : writtenWithAnswer(record, call.claim, ending.answer ?? null));
    context.trace?.settled(settled.outcome);
    if (call.claim !== null) parts.idempotency.ended(call.claim, settled);
    const storing = parts.kept?.ended(call, record, ending, context.trace) ?? null;
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
      const kept = await parts.idempotency.withAnswer(claim, record, answer);
      return await parts.calls.settle(kept, context.trace?.committing);
    } catch (error) {
      return notWritten(error);
    }
  }
}

/** What the call was charged, or will be; null where it is written nowhere. */
function chargeOf(settled: Settled): Parameters<typeof releaseCall>[3] {
  if (settled.outcome === 'settled') return settled;
  return settled.outcome === 'not-written' ? null : settled.committed;
}

function notWritten(error: unknown): Settled {
  return { outcome: 'not-written', error };
}

/** Of a call that used nothing. */
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

/** Null where no key was known: such refusals are counted, not stored. */
export function recordOfRefusal(
  id: string,
  { key, route, alias, refusal, attribution }: Pick<Refused, RecordedOfRefusal>,
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

type RecordedOfRefusal = 'key' | 'route' | 'alias' | 'refusal' | 'attribution';

export function recordOfRead(
  { id, key, route }: AdmittedRead,
  httpStatus: number,
  clock: CallClock,
): FinishedCall {
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias: null };
  const isFine = httpStatus < 400;
  const ending = {
    outcome: isFine ? 'SUCCEEDED' : 'REFUSED',
    reason: isFine ? null : reasonOf(httpStatus),
  } as const;
  return { ...base, ...untouched(clock), ...ending, httpStatus };
}

/** Of a read that was refused: which refusal its status is. */
function reasonOf(httpStatus: number): string {
  return refusalReason({ name: READ_REFUSALS[httpStatus] ?? 'unavailable' });
}

const READ_REFUSALS: Readonly<Record<number, Refusal['name']>> = {
  400: 'invalidRequest',
  403: 'modelNotAllowed',
  404: 'notFound',
};

/** As a read: of no model, and in no total. */
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

/** Of a call that reached no upstream. */
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

/** Streams that ended without usage cost the operator and are not charged: a key with many of them is reported (G-31). */
export interface UnpaidEndings {
  note(keyId: string): void;
}

const SUSPICIOUS_ENDINGS = 5;
const SUSPICIOUS_WITHIN_MS = 10 * 60_000;
const MOST_WATCHED_KEYS = 10_000;

export function createUnpaidEndings({ clock, log }: { clock: Clock; log: Log }): UnpaidEndings {
  const endings = new Map<string, { since: number; count: number }>();
  return {
    note(keyId) {
      const now = clock.now();
      const known = endings.get(keyId);
      const isRunning = known !== undefined && now - known.since < SUSPICIOUS_WITHIN_MS;
      const entry = isRunning ? known : { since: now, count: 0 };
      entry.count += 1;
      endings.delete(keyId);
      endings.set(keyId, entry);
      if (entry.count % SUSPICIOUS_ENDINGS === 0) {
        const context = { keyId, count: entry.count, withinMs: SUSPICIOUS_WITHIN_MS };
        log.warn('streams of a key keep ending without usage and are not charged', context);
      }
      if (endings.size <= MOST_WATCHED_KEYS) return;
      const oldest = endings.keys().next().value;
      if (oldest !== undefined) endings.delete(oldest);
    },
  };
}
