import type { CallTokens, FinishedCall } from '../domain/calls/finished-call.ts';
import type { IdempotentCalls } from '../domain/calls/idempotent-calls.ts';
import type { CallBook, Settled } from '../domain/calls/settle-call.ts';
import type { CreditHolds } from '../domain/credits/holds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { UpstreamAnswer } from '../ports/model-upstream.ts';
import type { AdmittedModelCall, AdmittedPaidCall } from './admit.ts';
import { answerStream } from './answer-stream.ts';
import { answerWhole } from './answer-whole.ts';
import { type CallEnding, recordOf, refusalReason } from './call-record.ts';
import type { CallTrace } from './call-trace.ts';
import { type ForwardParts, forward } from './forward.ts';
import { type Refusal, refusalResponse, refusalStatus } from './refusals.ts';
import type { UnpaidEndings } from './unpaid-endings.ts';

/** What ending a call needs. */
export interface EndParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly calls: CallBook;
  readonly holds: CreditHolds;
  readonly idempotency: IdempotentCalls;
}

export interface ModelCallParts extends ForwardParts, EndParts {
  readonly unpaidEndings: UnpaidEndings;
  /** Between two chunks of an answer. */
  readonly idleTimeoutMs: number;
}

export interface ModelCallContext {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Aborts when the client leaves. */
  readonly clientSignal: AbortSignal;
  /** Those of the client's headers that go on to the provider. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** What every answer to this call carries. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null where this call is not taken down. */
  readonly trace?: CallTrace | null;
}

/** Ends a call: its row is committed and what it reserved is settled. True where the row is written. */
export type EndCall = (ending: CallEnding) => Promise<boolean>;

/** One admitted call, from the upstream's first answer to the last byte, which waits for the call's commit. */
export async function answerModelCall(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
): Promise<Response> {
  const upstreamAbort = new AbortController();
  const onClientLeft = () => upstreamAbort.abort();
  context.clientSignal.addEventListener('abort', onClientLeft, { once: true });
  const end = createEnd(parts, call, context);
  try {
    return await answerForwarded(parts, call, context, end, upstreamAbort);
  } catch (error) {
    // Nobody foresaw this. What the call holds is given back all the same.
    upstreamAbort.abort();
    await end(failure('internal', 503, null));
    throw error;
  }
}

async function answerForwarded(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
  end: EndCall,
  upstreamAbort: AbortController,
): Promise<Response> {
  const forwarded = await forward(parts, call, context, upstreamAbort.signal);
  switch (forwarded.outcome) {
    case 'client-left':
      await end(failure('client-left', 499, forwarded.targetId));
      return refusalResponse({ name: 'unavailable' }, context.headers);
    case 'refused': {
      const { refusal, targetId } = forwarded;
      return await refuseAfterUpstream(end, refusal, targetId, context);
    }
    case 'answered': {
      const { target, answer } = forwarded;
      const firstByteMs = parts.clock.now() - context.startedAtMs;
      if (context.clientSignal.aborted) {
        answer.body.cancel().catch(() => {});
        await end(failure('client-left', 499, target.id, firstByteMs));
        return refusalResponse({ name: 'unavailable' }, context.headers);
      }
      const answering = { parts, call, context, target, answer, end, firstByteMs, upstreamAbort };
      const isStream = call.fields.stream && answer.contentType === 'text/event-stream';
      return isStream ? answerStream(answering) : await answerWhole(answering);
    }
  }
}

export interface Answering {
  readonly parts: ModelCallParts;
  readonly call: AdmittedModelCall;
  readonly context: ModelCallContext;
  readonly target: { readonly id: string };
  readonly answer: UpstreamAnswer;
  readonly end: EndCall;
  readonly firstByteMs: number;
  readonly upstreamAbort: AbortController;
}

async function refuseAfterUpstream(
  end: EndCall,
  refusal: Refusal,
  targetId: string | null,
  { headers }: ModelCallContext,
): Promise<Response> {
  const isWritten = await end(failure(refusalReason(refusal), refusalStatus(refusal), targetId));
  return refusalResponse(isWritten ? refusal : { name: 'unavailable' }, headers);
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

/**
 * The tokens that a call's reservation becomes: those it used; where it reached a model that told nothing, the
 * estimate stays (G-31); where no model ran, none.
 */
function tokensToSettle({ tokens, firstByteMs }: CallEnding): number | null {
  if (tokens !== null) return total(tokens);
  return firstByteMs === null ? 0 : null;
}

function total({ promptTokens, completionTokens }: CallTokens): number {
  return promptTokens + completionTokens;
}

/** However many ways lead to the end of a call, it ends once. */
export function createEnd(parts: EndParts, call: AdmittedPaidCall, context: ModelCallContext): EndCall {
  let ended: Promise<boolean> | null = null;
  return (ending) => {
    ended ??= endOnce(ending);
    return ended;
  };
  /**
   * The commit first, then what the call holds is given back together with the levels that the commit left: nobody
   * finds the hold gone and the charge not yet there, and a client that calls again finds nothing of its own held.
   * A call that waits in the journal keeps its credits held until it is in the database.
   */
  async function endOnce(ending: CallEnding): Promise<boolean> {
    const tokens = tokensToSettle(ending);
    const { holds } = parts;
    const { requestId, startedAtMs } = context;
    const clock = { requestId, startedAtMs, nowMs: parts.clock.now() };
    context.trace?.ended(ending);
    const settled = await settle(recordOf(call, clock, ending), ending);
    context.trace?.settled(settled.outcome);
    if (call.claim !== null) parts.idempotency.ended(call.claim, settled);
    switch (settled.outcome) {
      case 'settled':
        await call.reservation.end(tokens, holds.levelsAfter(call.payer, settled));
        return true;
      case 'journaled': {
        const { committed } = settled;
        await call.reservation.end(
          tokens,
          committed.then((changed) => holds.levelsAfter(call.payer, changed)),
        );
        return true;
      }
      case 'not-written':
        parts.log.error('a call could not be written', { callId: call.id, error: settled.error });
        await call.reservation.end(tokens, []);
        return false;
    }
  }
  /** With an idempotency key the answer goes with the record. */
  async function settle(record: FinishedCall, ending: CallEnding): Promise<Settled> {
    const { claim } = call;
    try {
      if (claim === null) return await parts.calls.settle(record);
      const kept = await parts.idempotency.withAnswer(claim, record, ending.answer ?? null);
      return await parts.calls.settle(kept);
    } catch (error) {
      return { outcome: 'not-written', error };
    }
  }
}
