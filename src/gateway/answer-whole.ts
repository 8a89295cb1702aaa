import { gatherAnswer } from './gather-body.ts';
import { type Answering, failure } from './model-calls.ts';
import { refusalResponse } from './refusals.ts';
import { readWholeAnswer } from './restamp.ts';

/** The largest answer that is not a stream: 2,048 embeddings of 3,072 numbers are about 130 MB of text. */
const MOST_ANSWER_BYTES = 256 * 1024 * 1024;

/** An answer in one piece: read whole, its model restamped, the call committed, then sent. */
export async function answerWhole(answering: Answering): Promise<Response> {
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
