/** The encoder runs on its own thread, because a window of 512 pieces blocks for a tenth of a second. */
import {
  createEncoderJobs,
  type FromThread,
  type ToThread,
  toUnitLength,
  windowsOf,
} from './encoder-jobs.ts';
import { ENCODER, readWordPieces } from './network-files.ts';
import { loadOnnxRuntime, type OnnxSession } from './onnx-runtime.ts';
import { CLS_PIECE, SEP_PIECE } from './word-pieces.ts';

declare const self: Worker;

interface OpenEncoder {
  readonly session: OnnxSession;
  readonly jobs: ReturnType<typeof createEncoderJobs>;
}

let encoder: OpenEncoder | null = null;
let isWorking = false;

/** Null if the platform has no runtime, which is reported. */
function openEncoder(): OpenEncoder | null {
  if (encoder !== null) return encoder;
  const loaded = loadOnnxRuntime();
  if (loaded.outcome === 'unavailable') {
    report({ kind: 'unavailable', reason: loaded.reason });
    return null;
  }
  const pieces = readWordPieces();
  const jobs = createEncoderJobs((text) => windowsOf(pieces.encode(text)));
  encoder = { session: loaded.runtime.open(ENCODER.file), jobs };
  return encoder;
}

/** Computes one window after the other until none is left. A failure ends its request, not the thread. */
async function work({ session, jobs }: OpenEncoder): Promise<void> {
  if (isWorking) return;
  isWorking = true;
  for (let window = jobs.next(); window !== null; window = jobs.next()) {
    try {
      const finished = jobs.finish(window, vectorOf(session, window.ids));
      if (finished !== null) answer(finished.id, finished.vectors);
    } catch (error) {
      jobs.forget(window.jobId);
      report({ kind: 'failed', id: window.jobId, message: String(error) });
    }
    // New and aborted requests arrive between windows.
    await new Promise((resolve) => setImmediate(resolve));
  }
  isWorking = false;
}

/** The vector of the first piece represents the text, as the network was trained. */
function vectorOf(session: OnnxSession, ids: readonly number[]): Float32Array<ArrayBuffer> {
  const pieces = BigInt64Array.from([CLS_PIECE, ...ids, SEP_PIECE], BigInt);
  const shape = [1, pieces.length];
  const states = session.run([
    { name: 'input_ids', data: pieces, shape },
    { name: 'attention_mask', data: new BigInt64Array(pieces.length).fill(1n), shape },
    { name: 'token_type_ids', data: new BigInt64Array(pieces.length), shape },
  ]);
  return toUnitLength(states.slice(0, ENCODER.dimensions));
}

function answer(id: number, texts: readonly Float32Array[]): void {
  const vectors = new Float32Array(texts.length * ENCODER.dimensions);
  texts.forEach((vector, at) => {
    vectors.set(vector, at * ENCODER.dimensions);
  });
  report({ kind: 'embedded', id, vectors }, [vectors.buffer]);
}

function report(message: FromThread, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}

self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
  try {
    if (data.kind === 'close') {
      encoder?.session.close();
      process.exit(0);
    }
    if (data.kind === 'forget') return encoder?.jobs.forget(data.id);
    const open = openEncoder();
    open?.jobs.add(data.id, data.texts);
    if (open !== null) await work(open);
  } catch (error) {
    report({ kind: 'broken', message: String(error) });
  }
};
