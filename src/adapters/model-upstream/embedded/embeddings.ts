import { z } from 'zod';
import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import type { TextVectors } from '../../../ports/networks/text-vectors.ts';
import {
  type Accepted,
  accept,
  jsonAnswer,
  type OpenCall,
  type Refusal,
  readTextInputs,
  refuse,
  refusedAnswer,
  refuseShape,
} from './open-call.ts';
import type { Tokens } from './tokens.ts';

const BUSY: Refusal = { status: 503, message: 'Too many embedding requests are waiting.', param: null };
const MODEL_STOPPED: Refusal = { status: 503, message: 'The embedded model stopped.', param: null };

const UNAVAILABLE: Refusal = {
  status: 503,
  message: 'The embedded embedding model cannot run on this platform. Give this alias a provider.',
  param: null,
};

export async function answerEmbeddings(call: OpenCall, encoder: TextVectors): Promise<UpstreamAnswer> {
  const { model, tokens, signal } = call;
  const read = await readEmbeddingRequest(call.body, { tokens, signal, dimensions: encoder.dimensions });
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const embedded = await encoder.embed(read.request.texts, signal);
  if (embedded.outcome === 'too-many-waiting') return refusedAnswer(BUSY, signal);
  if (embedded.outcome === 'unavailable') return refusedAnswer(UNAVAILABLE, signal);
  if (embedded.outcome === 'failed') return refusedAnswer(MODEL_STOPPED, signal);
  return jsonAnswer(embeddingParts(embedded.vectors, read.request, { model, encoder }), signal);
}

interface EmbeddingRequest {
  readonly texts: readonly string[];
  readonly tokenCount: number;
  readonly encoding: 'float' | 'base64';
  readonly dimensions: number;
}

/** OpenAI's limits, for each input and for all of them together. */
const MAX_TOKENS = 8_192;
const MAX_TOKENS_OF_ALL = 300_000;

const embeddingBody = z.object({
  input: z.unknown().optional(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
});

async function readEmbeddingRequest(
  body: unknown,
  {
    tokens,
    signal,
    dimensions,
  }: { readonly tokens: Tokens; readonly signal: AbortSignal; readonly dimensions: number },
): Promise<Accepted<EmbeddingRequest>> {
  const parsed = embeddingBody.safeParse(body);
  if (!parsed.success) return refuseShape(parsed.error);
  const requested = parsed.data.dimensions ?? dimensions;
  if (requested > dimensions) return refuse(`'dimensions' must be at most ${dimensions}.`, 'dimensions');
  const inputs = readTextInputs(parsed.data.input, 'input');
  if (inputs.outcome === 'refused') return inputs;

  const texts: string[] = [];
  let tokenCount = 0;
  for (const input of inputs.request) {
    const text = input.kind === 'text' ? input.text : tokens.decode(input.tokens);
    if (text === null) return refuse("'input' has a number that is no token of o200k_base.", 'input');
    if (text === '') return refuse("'input' cannot be an empty string.", 'input');
    const count = input.kind === 'text' ? await tokens.count(text, signal) : input.tokens.length;
    tokenCount += count;
    if (count > MAX_TOKENS || tokenCount > MAX_TOKENS_OF_ALL) return tooLong(count, tokenCount);
    texts.push(text);
  }
  return accept({
    texts,
    tokenCount,
    encoding: parsed.data.encoding_format ?? 'float',
    dimensions: requested,
  });
}

function tooLong(count: number, tokenCount: number) {
  const message =
    count > MAX_TOKENS
      ? `This model's maximum context length is ${MAX_TOKENS} tokens, however an input has ${count} tokens.`
      : `All inputs together may have ${MAX_TOKENS_OF_ALL} tokens; these have at least ${tokenCount}.`;
  return refuse(message, 'input');
}

/**
 * In parts, one per vector: 2,048 of them as one text would be 15 MB and block for a fifth of a second. The fingerprint
 * is the encoder's version, by which matching detects vectors that must be recomputed.
 */
function* embeddingParts(
  vectors: Float32Array<ArrayBuffer>,
  request: EmbeddingRequest,
  { model, encoder }: { readonly model: string; readonly encoder: TextVectors },
): Generator<string> {
  yield '{"object":"list","data":[';
  for (let index = 0; index < request.texts.length; index += 1) {
    const start = index * encoder.dimensions;
    const vector = vectors.slice(start, start + request.dimensions);
    const whole = request.dimensions === encoder.dimensions ? vector : toUnitLength(vector);
    const embedding = encoded(whole, request.encoding);
    yield `${index === 0 ? '' : ','}${JSON.stringify({ object: 'embedding', index, embedding })}`;
  }
  const usage = { prompt_tokens: request.tokenCount, total_tokens: request.tokenCount };
  const fingerprint = JSON.stringify(encoder.version);
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)},"system_fingerprint":${fingerprint}}`;
}

/** Fewer dimensions are the first ones, scaled to unit length again, as OpenAI does it. */
function toUnitLength(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((part) => part / length);
}

function encoded(
  vector: Float32Array<ArrayBuffer>,
  encoding: EmbeddingRequest['encoding'],
): string | number[] {
  // All platforms that Bun supports are little-endian, as the API format requires.
  return encoding === 'base64' ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector);
}
