import type { Clock } from '../../ports/clock.ts';
import type { JobHandler, JobQueue } from '../../ports/job-queue.ts';
import type { JobRate } from './service-processes.ts';

export interface JobRates {
  /** The same queue, with the runs of its workers counted. */
  counted(queue: JobQueue): JobQueue;
  /** For every queue that this process works on, over the last five minutes or since it started, if that is later. */
  read(): Readonly<Record<string, JobRate>>;
}

interface Minute {
  readonly number: number;
  done: number;
  failed: number;
}

const MINUTES = 5;
const MINUTE_MS = 60_000;

/** Runs are counted by the minute in which they end: a few numbers per queue, at any rate of jobs. */
export function createJobRates(clock: Clock): JobRates {
  const beganAtMs = clock.now();
  const queues = new Map<string, Minute[]>();
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);
  const isLate = ({ number }: Minute) => number > minuteNow() - MINUTES;

  function note(queue: string, ending: 'done' | 'failed'): void {
    const minutes = (queues.get(queue) ?? []).filter(isLate);
    let last = minutes.at(-1);
    if (last?.number !== minuteNow()) {
      last = { number: minuteNow(), done: 0, failed: 0 };
      minutes.push(last);
    }
    last[ending] += 1;
    queues.set(queue, minutes);
  }

  function watched(queue: string, handler: JobHandler): JobHandler {
    return async (job) => {
      try {
        await handler(job);
        note(queue, 'done');
      } catch (error) {
        note(queue, 'failed');
        throw error;
      }
    };
  }

  return {
    counted: (jobQueue) => ({
      ...jobQueue,
      async work(queue, options, handler) {
        const worker = await jobQueue.work(queue, options, watched(queue, handler));
        if (!queues.has(queue)) queues.set(queue, []);
        return worker;
      },
    }),
    read() {
      // The current minute counts in proportion to the part that has passed.
      const spanMs = Math.min(clock.now() - beganAtMs, (MINUTES - 1) * MINUTE_MS + (clock.now() % MINUTE_MS));
      const perMinute = (count: number) =>
        Math.round((count * MINUTE_MS * 10) / Math.max(spanMs, MINUTE_MS)) / 10;
      return Object.fromEntries(
        [...queues].map(([queue, minutes]) => {
          const late = minutes.filter(isLate);
          const sum = (ending: 'done' | 'failed') =>
            late.reduce((total, minute) => total + minute[ending], 0);
          return [
            queue,
            { donePerMinute: perMinute(sum('done')), failedPerMinute: perMinute(sum('failed')) },
          ];
        }),
      );
    },
  };
}
