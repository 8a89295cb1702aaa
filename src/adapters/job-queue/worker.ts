import type { Clock, ClockTimer, PgBoss } from 'pg-boss';
import type { JobData, JobHandler, QueueWorker } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { BossDatabase } from './boss-database.ts';
import type { BossTables, Claim } from './boss-tables.ts';
import { errorText } from './job-limits.ts';
import type { JobSupervisor } from './job-supervisor.ts';

/** How long an aborted handler may take before its job is returned to the queue. */
const GRACE_MS = 250;
/** Several heartbeats per interval, so that a single lost one does not lose the claim. */
const BEATS_IN_SILENCE_ALLOWED = 3;

export interface Worker extends QueueWorker {
  /** Takes no more jobs. Running ones may finish within `deadlineMs`; the others are returned to the queue. */
  stopWithin(deadlineMs: number): Promise<void>;
}

/** What all workers of a process share. */
export interface WorkerParts {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly tables: BossTables;
  readonly supervisor: JobSupervisor;
  readonly clock: Clock;
  readonly log: Log;
}

interface WorkerOptions extends Pick<WorkerParts, 'boss' | 'supervisor' | 'clock' | 'log'> {
  readonly queue: string;
  readonly concurrency: number;
  readonly perOwner: number | undefined;
  readonly handler: JobHandler;
  readonly settle: Settle;
}

/**
 * Takes as many jobs as it has free places in one statement, and again when a place becomes free and there may be more.
 * (pg-boss's own workers wait for their polling interval between two jobs, send one query per place, and count a job that a
 * shutdown interrupts as failed.)
 */
export function startWorker(options: WorkerOptions): Worker {
  const { boss, queue, concurrency, perOwner, handler, settle, supervisor, clock, log } = options;
  const runs = new Set<Run>();
  const fetchInTurn = perOwner === undefined ? null : createTurns(boss, queue);
  /** Runs whose handler is done, while the result is being written. */
  const settling = new Set<Run>();
  const ends = new Set<Promise<void>>();
  let taking: Promise<void> | null = null;
  let mayHaveMore = false;
  /** Called when a run has ended. */
  let mayHaveMoreThen = false;
  let stopped = false;
  let beat: ClockTimer | null = null;

  function take(): void {
    mayHaveMore = true;
    if (taking !== null || stopped || runs.size >= concurrency) return;
    taking = takeFree()
      .catch(supervisor.retryAfterFailure)
      .finally(() => {
        taking = null;
        if (mayHaveMore) take();
      });
  }

  async function takeFree(): Promise<void> {
    mayHaveMore = false;
    if (fetchInTurn !== null) return await takeInTurn(fetchInTurn);
    const free = concurrency - runs.size;
    const jobs: ClaimedJob[] = await boss.fetch<ClaimedJob['data']>(queue, { batchSize: free });
    if (jobs.length === free) mayHaveMore = true;
    for (const job of jobs) await beginOrPutBack(job);
  }

  async function takeInTurn(turns: Turns): Promise<void> {
    while (!stopped && runs.size < concurrency) {
      const full = ownersWith(perOwner ?? concurrency);
      // Their jobs wait until one of their runs has ended, which may happen during the statement.
      mayHaveMoreThen = full.length > 0;
      const job = await turns.next(full);
      if (job === null) return;
      await beginOrPutBack(job);
    }
    mayHaveMore = true;
  }

  function ownersWith(least: number): readonly string[] {
    const counts = new Map<string, number>();
    for (const { job } of runs) {
      if (job.groupId != null) counts.set(job.groupId, (counts.get(job.groupId) ?? 0) + 1);
    }
    return [...counts].filter(([, count]) => count >= least).map(([owner]) => owner);
  }

  async function beginOrPutBack(job: ClaimedJob): Promise<void> {
    if (stopped) await settle(queue, job, { kind: 'left' });
    else begin(job);
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
        if (mayHaveMore || mayHaveMoreThen) {
          mayHaveMoreThen = false;
          take();
        }
      });
    ends.add(end);
  }

  /** Sends the heartbeat, and finds out which claims were lost. */
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
      supervisor.retryAfterFailure(error);
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    watching.end();
    await taking;
    await Promise.all(ends);
  }

  const watching = supervisor.watch(queue, () => {
    fetchInTurn?.othersMayWait();
    take();
  });
  return {
    status() {
      const active = runs.size;
      if (stopped) return { state: 'stopped', active, idle: 0 };
      return { state: supervisor.isFailing() ? 'failing' : 'running', active, idle: concurrency - active };
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

interface Turns {
  /** The next job of any other owner; null if none is due. */
  next(full: readonly string[]): Promise<ClaimedJob | null>;
  /** There may be a job of an owner that had no turn in this round. */
  othersMayWait(): void;
}

/** The largest number of owners in a round, because they are parameters of each statement. */
const MOST_IN_A_ROUND = 500;

/**
 * Takes jobs in turns of their owners: a round has one job of each. Skipping owners means scanning their waiting jobs
 * (0.5 ms per thousand on PGlite), so if only one owner has jobs, others are not searched for until a notification arrives.
 */
function createTurns(boss: PgBoss, queue: string): Turns {
  const round = new Set<string>();
  let othersMayWait = true;

  async function fetchOne(ignoreGroups: string[]): Promise<ClaimedJob | null> {
    const ignored = ignoreGroups.length === 0 ? {} : { ignoreGroups };
    const [job] = await boss.fetch<ClaimedJob['data']>(queue, { batchSize: 1, ...ignored });
    return (job as ClaimedJob | undefined) ?? null;
  }

  async function nextOfRound(full: readonly string[]): Promise<ClaimedJob | null> {
    if (round.size === 0 || round.size > MOST_IN_A_ROUND || !othersMayWait) return null;
    // Before the statement, so that a notification during it is not lost.
    if (round.size === 1 && full.length === 0) othersMayWait = false;
    const job = await fetchOne([...round, ...full]);
    if (job !== null) othersMayWait = true;
    return job;
  }

  return {
    async next(full) {
      let job = await nextOfRound(full);
      if (job === null) {
        round.clear();
        job = await fetchOne([...full]);
      }
      if (job?.groupId != null) round.add(job.groupId);
      return job;
    },
    othersMayWait() {
      othersMayWait = true;
    },
  };
}

function beatMs(job: ClaimedJob): number {
  return ((job.heartbeatSeconds ?? 60) * 1000) / BEATS_IN_SILENCE_ALLOWED;
}

/** A job as returned by pg-boss. */
interface ClaimedJob extends Claim {
  readonly data: JobData;
  readonly expireInSeconds: number;
  readonly heartbeatSeconds: number | null;
  /** Its owner. */
  readonly groupId?: string | null;
}

type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Aborted before it finished: another worker has the job or will take it. */
  | { readonly kind: 'left' };

interface Run {
  readonly job: ClaimedJob;
  readonly outcome: Promise<RunOutcome>;
  /** Aborts the signal. The handler may still finish. */
  interrupt(reason: Error): void;
  /** Abandons the run, even if its handler continues. */
  leave(): void;
}

/**
 * A run of a job. A handler cannot be stopped: after its time, or when the run is abandoned, its signal is aborted and its
 * result is ignored.
 */
function startRun(job: ClaimedJob, handler: JobHandler, clock: Clock): Run {
  const controller = new AbortController();
  const decided = Promise.withResolvers<RunOutcome>();
  let interrupted = false;

  const expiry = clock.setTimeout(() => {
    const error = new Error(`it ran longer than ${job.expireInSeconds} s`);
    decided.resolve({ kind: 'failed', error });
    controller.abort(error);
  }, job.expireInSeconds * 1000);

  async function handle(): Promise<void> {
    try {
      const { id, data, retryCount } = job;
      await handler({ id, data, attempt: retryCount + 1, signal: controller.signal });
      decided.resolve({ kind: 'done' });
    } catch (error) {
      decided.resolve(interrupted ? { kind: 'left' } : { kind: 'failed', error });
    }
  }
  void handle();

  return {
    job,
    outcome: decided.promise.finally(() => clock.clearTimeout(expiry)),
    interrupt(reason) {
      interrupted = true;
      controller.abort(reason);
    },
    leave: () => decided.resolve({ kind: 'left' }),
  };
}

/** Delays that cover a restart of the database. After them the job runs again when its claim expires. */
const WAITS_MS = [100, 500, 1_000, 2_000, 5_000, 10_000, 10_000];

/** Never rejects. */
type Settle = (queue: string, job: ClaimedJob, outcome: RunOutcome) => Promise<void>;

interface SettleOptions extends WorkerParts {
  /** If true, the result is not retried when the database does not answer. */
  readonly isStopping: () => boolean;
}

/**
 * Records the result of a run. Each statement names the claim of the run, so a late or repeated one changes nothing.
 */
export function createSettle(options: SettleOptions): Settle {
  const { boss, bossDatabase, tables, supervisor, clock, log, isStopping } = options;

  async function write(queue: string, job: ClaimedJob, outcome: RunOutcome): Promise<void> {
    const claim = { id: job.id, retryCount: job.retryCount };
    if (outcome.kind === 'done') {
      await boss.complete(queue, claim);
    } else if (outcome.kind === 'failed') {
      await boss.fail(queue, claim, { message: errorText(outcome.error) });
      // A poll finds out when the retry is due.
      supervisor.check();
    } else {
      await tables.putBack(queue, [claim]);
      const channel = bossDatabase.channel();
      if (channel !== null) await tables.notify(boss.getDb(), channel, queue);
    }
  }

  return async (queue, job, outcome) => {
    const context = { queue, jobId: job.id, attempt: job.retryCount + 1 };
    if (outcome.kind === 'failed') {
      log.warn('a job run failed', { ...context, error: outcome.error });
    }
    for (const waitMs of [...WAITS_MS, null]) {
      try {
        return await write(queue, job, outcome);
      } catch (error) {
        if (waitMs === null || isStopping()) {
          log.error('the end of a job run could not be stored: the job will run again', {
            ...context,
            error,
          });
          return;
        }
        supervisor.retryAfterFailure(error);
        await new Promise<void>((resolve) => clock.setTimeout(resolve, waitMs));
      }
    }
  };
}

/** In real time even under a test clock, which does not advance during a shutdown. */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
