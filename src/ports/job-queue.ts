import type { Transaction } from './database.ts';

/**
 * Background work that survives every crash: a job is done at least once after `enqueue` has resolved (or its
 * transaction has committed), and by one worker at a time.
 */
export interface JobQueue {
  /**
   * Makes the queue, or brings an existing one to these settings. Repeatable, also by many processes at once;
   * each process defines the queues that it uses.
   */
  define(queue: QueueDefinition): Promise<void>;
  /** The job's id, or null where `dedupeKey` names a job that is still waiting or running. */
  enqueue(queue: string, data: JobData, options?: EnqueueOptions): Promise<string | null>;
  /** Takes jobs from now on. A handler that rejects has failed: the job is retried, then a dead letter. */
  work(queue: string, options: WorkOptions, handler: JobHandler): Promise<QueueWorker>;
  /**
   * Enqueues by a cron line (UTC, minutes), once for all processes and up to half a minute late. The same name
   * again replaces it. An occurrence is left out while the one before it waits or runs; of those that came due
   * while no process ran, one is made up for.
   */
  schedule(queue: string, cron: string, data: JobData): Promise<void>;
  unschedule(queue: string): Promise<void>;

  /** Of the queues that this process has defined. */
  names(): readonly string[];
  counts(queue: string): Promise<QueueCounts>;
  /** Newest first; with `after`, those that follow the last one of the previous page. */
  deadLetters(queue: string, limit: number, after?: DeadLetterPlace): Promise<readonly DeadLetter[]>;
  /**
   * Gives dead letters another run under their old ids, all their tries again; without ids, all of them. One whose
   * `dedupeKey` names a job that waits or runs stays a dead letter. Returns how many were given a run.
   */
  redrive(queue: string, ids?: readonly string[]): Promise<number>;
  /** Gives dead letters up for good. Returns how many there were; what is no dead letter any more is left alone. */
  discard(queue: string, ids: readonly string[]): Promise<number>;

  /** No new jobs; running ones may finish within `deadlineMs`, the rest are put back at once. */
  stop(deadlineMs: number): Promise<void>;
}

export type JobData = { readonly [key: string]: unknown };

export interface QueueDefinition {
  readonly name: string;
  /** Tries after the first. */
  readonly retries: number;
  /** Before the first retry; doubled each time, with jitter, up to `retryDelayMaxSeconds`. */
  readonly retryDelaySeconds: number;
  readonly retryDelayMaxSeconds: number;
  /** A run longer than this counts as failed. */
  readonly runSeconds: number;
  /** A worker that says nothing for this long is dead: its run has failed, the job goes to another. At least 10. */
  readonly heartbeatSeconds: number;
}

export interface EnqueueOptions {
  /** The job exists if and only if this transaction commits. */
  readonly within?: Transaction;
  readonly dedupeKey?: string;
  readonly startAfter?: Date;
  /** Whose job it is, such as a company: where a queue's jobs have owners, they are taken by turns of their owners. */
  readonly owner?: string;
}

export interface WorkOptions {
  /** Jobs at once in this process. */
  readonly concurrency: number;
  /**
   * Jobs of one owner at once in this process; with it, jobs are taken by turns: one of each owner, its oldest, then
   * again. Without it the oldest job is next, regardless of its owner.
   */
  readonly perOwner?: number;
}

export interface Job {
  /** As `enqueue` gave it. */
  readonly id: string;
  readonly data: JobData;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Aborts when the run takes too long or the process stops. */
  readonly signal: AbortSignal;
}

export type JobHandler = (job: Job) => Promise<void>;

/** A queue and how its jobs are processed, as each capability describes its own background work. */
export interface QueueWork extends WorkOptions {
  readonly queue: QueueDefinition;
  readonly handler: JobHandler;
  /** Also enqueues a job without data on this schedule. */
  readonly cron?: string;
  /** The worker's name in health reports, if it is not the queue's. */
  readonly reportedAs?: string;
}

export interface QueueWorkerStatus {
  /**
   * `failing` while the queue cannot be reached, or has not been looked at for long: jobs wait. It goes on trying, and
   * what it has taken runs on.
   */
  readonly state: 'running' | 'failing' | 'stopped';
  /** Jobs that run now. */
  readonly active: number;
  /** Free places; none once it is stopped. */
  readonly idle: number;
}

export interface QueueWorker {
  status(): QueueWorkerStatus;
  stop(): Promise<void>;
}

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly dead: number;
}

/** Where a dead letter stands among the others: it stays the same when others are redriven or discarded. */
export interface DeadLetterPlace {
  /** The job's. */
  readonly id: string;
  readonly failedAt: Date;
}

export interface DeadLetter extends DeadLetterPlace {
  readonly data: JobData;
  /** Of the last run, at most 2,000 characters. */
  readonly error: string;
}

/** How much of a queue there is, for who watches. */
export interface QueueDepth extends QueueCounts {
  readonly name: string;
  /** Of the job that could have been taken longest ago; null where none waits. */
  readonly oldestWaitingSeconds: number | null;
}
