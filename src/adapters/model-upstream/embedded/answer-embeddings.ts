import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { jsonAnswer, refusedAnswer } from './answer-body.ts';
import type { EmbeddingModel } from './embedding-model.ts';
import { readEmbeddingRequest } from './embedding-request.ts';
import { embeddingParts } from './embedding-wire.ts';
import type { OpenCall } from './open-call.ts';
import type { Refusal } from './refusal.ts';

const BUSY: Refusal = { status: 503, message: 'Too many embedding requests are waiting.', param: null };
const STOPPED: Refusal = { status: 503, message: 'The embedded model stopped.', param: null };

export async function answerEmbeddings(call: OpenCall, embeddings: EmbeddingModel): Promise<UpstreamAnswer> {
  const { model, tokens, signal } = call;
  const read = await readEmbeddingRequest(call.body, tokens, signal);
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const embedded = await embeddings.embed(read.request.texts, signal);
  if (embedded.outcome === 'too-many-waiting') return refusedAnswer(BUSY, signal);
  if (embedded.outcome === 'failed') return refusedAnswer(STOPPED, signal);
  return jsonAnswer(embeddingParts(embedded.vectors, read.request, model), signal);
}
