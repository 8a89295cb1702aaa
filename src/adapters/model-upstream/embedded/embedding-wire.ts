import { VECTOR_LENGTH } from './embedding-messages.ts';
import type { EmbeddingRequest } from './embedding-request.ts';
import { toUnitLength } from './text-windows.ts';

/** In parts, one to a vector: 2,048 of them as one text would be 20 MB and a fifth of a second without a pause. */
export function* embeddingParts(
  vectors: Float32Array<ArrayBuffer>,
  request: EmbeddingRequest,
  model: string,
): Generator<string> {
  yield '{"object":"list","data":[';
  for (let index = 0; index < request.texts.length; index += 1) {
    const embedding = encoded(shortened(vectors, index, request.dimensions), request.encoding);
    yield `${index === 0 ? '' : ','}${JSON.stringify({ object: 'embedding', index, embedding })}`;
  }
  const usage = { prompt_tokens: request.tokenCount, total_tokens: request.tokenCount };
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`;
}

/** Fewer dimensions are the first ones, at unit length again, as OpenAI does it. */
function shortened(vectors: Float32Array<ArrayBuffer>, index: number, dimensions: number) {
  const start = index * VECTOR_LENGTH;
  const vector = vectors.slice(start, start + dimensions);
  return dimensions === VECTOR_LENGTH ? vector : toUnitLength(vector);
}

function encoded(
  vector: Float32Array<ArrayBuffer>,
  encoding: EmbeddingRequest['encoding'],
): string | number[] {
  // Every machine that Bun runs on is little-endian, which is what the wire wants.
  return encoding === 'base64' ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector);
}
