import type { Clock, ClockTimer, PgBoss } from 'pg-boss';
import type { JobHandler, QueueWorker } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { endsWithin } from './ends-within.ts';
import type { Lookout } from './lookout.ts';
import { type ClaimedJob, type Run, startRun } from './run.ts';
import type { Settle } from './settle.ts';

/** What a handler that was told to end gets before its job is put back. */
const GRACE_MS = 250;
/** So that one lost beat does not cost the claim. */
const BEATS_IN_SILENCE_ALLOWED = 3;

export interface Worker extends QueueWorker {
  /** Takes no more jobs; those running may finish within `deadlineMs`, the rest are put back. */
  stopWithin(deadlineMs: number): Promise<void>;
}

interface WorkerOptions {
  readonly boss: PgBoss;
  readonly queue: string;
  readonly concurrency: number;
  readonly handler: JobHandler;
  readonly settle: Settle;
  readonly lookout: Lookout;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Takes as many jobs as it has free places, in one statement, and again whenever a place becomes free while
 * there may be more. (pg-boss's own workers wait out their polling interval between two jobs, ask once for each
 * place, and count a job that a shutdown interrupts as failed.)
 */
export function startWorker(options: WorkerOptions): Worker {
  const { boss, queue, concurrency, handler, settle, lookout, clock, log } = options;
  const runs = new Set<Run>();
  /** Those whose handler is done, while that is written down. */
  const settling = new Set<Run>();
  const ends = new Set<Promise<void>>();
  let taking: Promise<void> | null = null;
  let mayHaveMore = false;
  let stopped = false;
  let beat: ClockTimer | null = null;

  function take(): void {
    mayHaveMore = true;
    if (taking !== null || stopped || runs.size >= concurrency) return;
    taking = takeFree()
      .catch(lookout.lookAfterFailure)
      .finally(() => {
        taking = null;
        if (mayHaveMore) take();
      });
  }

  async function takeFree(): Promise<void> {
    const free = concurrency - runs.size;
    mayHaveMore = false;
    const jobs: ClaimedJob[] = await boss.fetch<ClaimedJob['data']>(queue, { batchSize: free });
    if (jobs.length === free) mayHaveMore = true;
    for (const job of jobs) {
      if (stopped) await settle(queue, job, { kind: 'left' });
      else begin(job);
    }
  }

  function begin(job: ClaimedJob): void {
    const run = startRun(job, handler, clock);
    runs.add(run);
    beat ??= clock.setInterval(sendBeat, beatMs(job));
    const end = run.outcome
      .then((outcome) => {
        settling.add(run);
        return settle(queue, job, outcome);
      })
      .finally(() => {
        settling.delete(run);
        runs.delete(run);
        ends.delete(end);
        if (runs.size === 0 && beat !== null) {
          clock.clearInterval(beat);
          beat = null;
        }
        if (mayHaveMore) take();
      });
    ends.add(end);
  }

  /** Says that this process lives, and learns which claims it has lost meanwhile. */
  async function sendBeat(): Promise<void> {
    const held = [...runs];
    if (held.length === 0) return;
    try {
      const answer = await boss.touch(
        queue,
        held.map((run) => run.job),
      );
      const alive = new Set((answer as { settled?: readonly string[] }).settled);
      for (const run of held) {
        if (alive.has(run.job.id) || settling.has(run) || !runs.has(run)) continue;
        log.warn('a job run has lost its claim', { queue, jobId: run.job.id });
        run.interrupt(new Error('another worker has the job now'));
        run.leave();
      }
    } catch (error) {
      lookout.lookAfterFailure(error);
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    watching.end();
    await taking;
    await Promise.all(ends);
  }

  const watching = lookout.watch(queue, take);
  return {
    status() {
      const active = runs.size;
      if (stopped) return { state: 'stopped', active, idle: 0 };
      return { state: lookout.isFailing() ? 'failing' : 'running', active, idle: concurrency - active };
    },
    stop,
    async stopWithin(deadlineMs) {
      const stopping = stop();
      if (await endsWithin(stopping, deadlineMs)) return;
      for (const run of runs) run.interrupt(new Error('the process stops'));
      if (await endsWithin(stopping, GRACE_MS)) return;
      for (const run of runs) run.leave();
      await stopping;
    },
  };
}

function beatMs(job: ClaimedJob): number {
  return ((job.heartbeatSeconds ?? 60) * 1000) / BEATS_IN_SILENCE_ALLOWED;
}
