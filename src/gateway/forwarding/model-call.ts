import { gatherAnswer } from '../../http/read-body.ts';
import type { AdmittedModelCall } from '../admission/admit.ts';
import { type Refusal, refusalResponse, refusalStatus } from '../admission/refusals.ts';
import { readWholeAnswer } from '../json/answer-body.ts';
import { answerStream } from '../streaming/answer-stream.ts';
import {
  type Answering,
  type AnswerParts,
  createEnd,
  type EndCall,
  failure,
  type ModelCallContext,
  refusalReason,
} from './end-call.ts';
import { type ForwardParts, forward } from './forward.ts';

export interface ModelCallParts extends ForwardParts, AnswerParts {}

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

async function refuseAfterUpstream(
  end: EndCall,
  refusal: Refusal,
  targetId: string | null,
  { headers }: ModelCallContext,
): Promise<Response> {
  const isWritten = await end(failure(refusalReason(refusal), refusalStatus(refusal), targetId));
  return refusalResponse(isWritten ? refusal : { name: 'unavailable' }, headers);
}

/** The largest answer that is not a stream: 2,048 embeddings of 3,072 numbers are about 130 MB of text. */
const MOST_ANSWER_BYTES = 256 * 1024 * 1024;

/** An answer in one piece: read whole, its model restamped, the call committed, then sent. */
async function answerWhole(answering: Answering): Promise<Response> {
  const { parts, call, context, target, answer, end, firstByteMs, upstreamAbort } = answering;
  const bounds = { maxBytes: MOST_ANSWER_BYTES, idleMs: parts.idleTimeoutMs, clock: parts.clock };
  const gathered = await gatherAnswer(answer, bounds);
  if (gathered.outcome !== 'whole') {
    upstreamAbort.abort();
    const left = context.clientSignal.aborted;
    const reason = left ? 'client-left' : `upstream-${gathered.outcome}`;
    await end(failure(reason, left ? 499 : 503, target.id, firstByteMs));
    return refusalResponse({ name: 'unavailable' }, context.headers);
  }
  const read = readWholeAnswer(gathered.bytes, call.alias.alias);
  if (!read.isJsonObject || read.isError) {
    await end(failure('upstream-broken', 503, target.id, firstByteMs));
    return refusalResponse({ name: 'unavailable' }, context.headers);
  }
  const isWritten = await end({
    outcome: read.usage === null ? 'FAILED' : 'SUCCEEDED',
    reason: read.usage === null ? 'no-usage' : null,
    httpStatus: answer.status,
    targetId: target.id,
    tokens: read.usage,
    firstByteMs,
    ...(call.claim === null ? {} : { answer: { contentType: 'application/json', bytes: read.bytes } }),
  });
  if (!isWritten) return refusalResponse({ name: 'unavailable' }, context.headers);
  const headers = { ...context.headers, 'content-type': 'application/json' };
  return new Response(read.bytes, { status: answer.status, headers });
}
