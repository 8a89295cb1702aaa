import { z } from 'zod';
import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { type FromThread, type ToThread, toUnitLength, VECTOR_LENGTH } from './embedding-jobs.ts';
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

export async function answerEmbeddings(call: OpenCall, embeddings: EmbeddingModel): Promise<UpstreamAnswer> {
  const { model, tokens, signal } = call;
  const read = await readEmbeddingRequest(call.body, tokens, signal);
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const embedded = await embeddings.embed(read.request.texts, signal);
  if (embedded.outcome === 'too-many-waiting') return refusedAnswer(BUSY, signal);
  if (embedded.outcome === 'failed') return refusedAnswer(MODEL_STOPPED, signal);
  return jsonAnswer(embeddingParts(embedded.vectors, read.request, model), signal);
}

/** The main thread's end of the wire to the thread that runs the embedding model. */
interface EmbeddingModel {
  /** Rejects with the signal's reason where it aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
  close(): Promise<void>;
}

type Embedded =
  /** One vector after the other. */
  | { readonly outcome: 'embedded'; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly outcome: 'too-many-waiting' }
  /** The thread ended, or the model failed; the next request starts anew. */
  | { readonly outcome: 'failed' };

/** What of a Worker is used. */
export interface ThreadHandle {
  postMessage(message: ToThread): void;
  terminate(): void;
  addEventListener(type: 'message', listener: (event: { readonly data: FromThread }) => void): void;
  addEventListener(type: 'error', listener: (event: { readonly message: string }) => void): void;
  addEventListener(type: 'close', listener: () => void): void;
}

interface EmbeddingModelOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly startThread?: () => ThreadHandle;
}

/** Besides the one that is worked on. Past it requests are turned away at once. */
const MAX_WAITING = 64;
/** A thread without work is ended: it gives its 130 MB back, and starts again in about half a second. */
const IDLE_MS = 10 * 60_000;

export function createEmbeddingModel({
  clock,
  log,
  startThread = startEmbeddingThread,
}: EmbeddingModelOptions): EmbeddingModel {
  const waiting = new Map<number, (embedded: Embedded) => void>();
  let thread: ThreadHandle | null = null;
  let idleTimer: Timer | null = null;
  let lastId = 0;
  let isClosed = false;

  /** The first request starts the thread, so its 130 MB are used only where they are needed. */
  function running(): ThreadHandle {
    if (thread !== null) return thread;
    const started = startThread();
    const died = (why: string) => {
      // A thread that was replaced or ended by us has nothing more to say.
      if (thread !== started) return;
      end();
      log.error('the embedding model stopped; the next request starts it anew', { why });
    };
    started.addEventListener('message', ({ data }) => {
      if (data.kind === 'broken') return died(data.message);
      if (data.kind === 'failed') log.error('the embedding model failed', { why: data.message });
      const settle = waiting.get(data.id);
      leave(data.id);
      settle?.(
        data.kind === 'failed' ? { outcome: 'failed' } : { outcome: 'embedded', vectors: data.vectors },
      );
    });
    started.addEventListener('error', ({ message }) => died(message));
    started.addEventListener('close', () => died('its thread ended'));
    thread = started;
    return started;
  }

  function leave(id: number): void {
    waiting.delete(id);
    if (waiting.size === 0) idleTimer ??= clock.after(IDLE_MS, end);
  }

  function stayAwake(): void {
    idleTimer?.cancel();
    idleTimer = null;
  }

  function end(): void {
    const ended = thread;
    thread = null;
    stayAwake();
    for (const settle of waiting.values()) settle({ outcome: 'failed' });
    waiting.clear();
    ended?.terminate();
  }

  return {
    embed(texts, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (isClosed) return Promise.resolve({ outcome: 'failed' });
      if (waiting.size > MAX_WAITING) return Promise.resolve({ outcome: 'too-many-waiting' });
      stayAwake();
      lastId += 1;
      const id = lastId;
      const asked = running();
      return new Promise((resolve, reject) => {
        const forget = () => {
          leave(id);
          asked.postMessage({ kind: 'forget', id });
          reject(signal.reason);
        };
        waiting.set(id, (embedded) => {
          signal.removeEventListener('abort', forget);
          resolve(embedded);
        });
        signal.addEventListener('abort', forget, { once: true });
        asked.postMessage({ kind: 'embed', id, texts });
      });
    },
    close() {
      isClosed = true;
      end();
      return Promise.resolve();
    },
  };
}

const startEmbeddingThread = (): ThreadHandle =>
  new Worker(new URL('./embedding-thread.ts', import.meta.url).href);

interface EmbeddingRequest {
  readonly texts: readonly string[];
  readonly tokenCount: number;
  readonly encoding: 'float' | 'base64';
  readonly dimensions: number;
}

/** OpenAI's bounds, of each input and of all of them together. */
const MAX_TOKENS = 8_192;
const MAX_TOKENS_OF_ALL = 300_000;

const embeddingBody = z.object({
  input: z.unknown().optional(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(VECTOR_LENGTH).nullish(),
});

async function readEmbeddingRequest(
  body: unknown,
  tokens: Tokens,
  signal: AbortSignal,
): Promise<Accepted<EmbeddingRequest>> {
  const parsed = embeddingBody.safeParse(body);
  if (!parsed.success) return refuseShape(parsed.error);
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
    dimensions: parsed.data.dimensions ?? VECTOR_LENGTH,
  });
}

function tooLong(count: number, tokenCount: number) {
  const message =
    count > MAX_TOKENS
      ? `This model's maximum context length is ${MAX_TOKENS} tokens, however an input has ${count} tokens.`
      : `All inputs together may have ${MAX_TOKENS_OF_ALL} tokens; these have at least ${tokenCount}.`;
  return refuse(message, 'input');
}

/** In parts, one to a vector: 2,048 of them as one text would be 20 MB and a fifth of a second without a pause. */
function* embeddingParts(
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
