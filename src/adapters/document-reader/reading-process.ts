/**
 * A process that reads untrusted documents. A worker thread does the reading. The main thread only checks time and memory,
 * so it can act while the worker is in an endless loop. Beyond a limit it kills the whole process, which is the only
 * reliable way to free the memory. The process also exits when its parent is gone.
 */
import type { ReadAnswer, ReadRequest } from './reading-thread.ts';

/** In 20 ms a thread that allocates as fast as it can exceeded the limit by 20 MB. */
const LOOK_EVERY_MS = 20;
/** The parent's timer fires first. This one is for a parent that is stopped or very busy. */
const GRACE_MS = 2_000;

const thread = new Worker(new URL('./reading-thread.ts', import.meta.url).href);
let watching: ReturnType<typeof setInterval> | null = null;

function watch({ limits }: ReadRequest): void {
  const deadline = performance.now() + limits.timeoutMs + GRACE_MS;
  watching = setInterval(() => {
    if (process.memoryUsage.rss() > limits.maxMemoryBytes || performance.now() > deadline) end();
  }, LOOK_EVERY_MS);
}

/** Not `exit`, because that waits for threads. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

function send(answer: ReadAnswer): void {
  process.send?.(answer);
}

thread.onmessage = ({ data }: MessageEvent<ReadAnswer>) => {
  if (watching !== null) clearInterval(watching);
  send(data.kind === 'reading' ? { ...data, rssBytes: process.memoryUsage.rss() } : data);
};
thread.onerror = end;

process.on('message', (request: ReadRequest) => {
  watch(request);
  thread.postMessage(request);
});
process.on('disconnect', end);
