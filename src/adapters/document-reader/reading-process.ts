/**
 * A process of its own for documents that strangers send. Its thread reads; this, its main thread, has nothing to do
 * but to look at the clock and at the memory of the process, so that it can do so while the thread is in a loop without
 * an end. Past a bound it kills the whole process: nothing less gives memory back for sure, and a thread inside the
 * service would share the service's memory. It also goes when its parent is gone, however that ended.
 */
import type { ReadAnswer, ReadRequest } from './reading-thread.ts';

/** In 20 ms a thread that fills memory as fast as it can was seen to get 20 MB past the bound. */
const LOOK_EVERY_MS = 20;
/** The parent's own timer comes first; this one is for a parent that is stopped or very busy. */
const GRACE_MS = 2_000;

const thread = new Worker(new URL('./reading-thread.ts', import.meta.url).href);
let watching: ReturnType<typeof setInterval> | null = null;

function watch({ limits }: ReadRequest): void {
  const deadline = performance.now() + limits.timeoutMs + GRACE_MS;
  watching = setInterval(() => {
    if (process.memoryUsage.rss() > limits.maxMemoryBytes || performance.now() > deadline) end();
  }, LOOK_EVERY_MS);
}

/** Not `exit`, which waits for threads. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

function tell(answer: ReadAnswer): void {
  process.send?.(answer);
}

thread.onmessage = ({ data }: MessageEvent<ReadAnswer>) => {
  if (watching !== null) clearInterval(watching);
  tell(data.kind === 'reading' ? { ...data, rssBytes: process.memoryUsage.rss() } : data);
};
thread.onerror = end;

process.on('message', (request: ReadRequest) => {
  watch(request);
  thread.postMessage(request);
});
process.on('disconnect', end);
