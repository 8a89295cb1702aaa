import type { Transaction } from './database.ts';

/**
 * Durable background jobs. After `enqueue` has resolved (or its transaction has committed), a job runs at least once, by
 * one worker at a time.
 */
export interface JobQueue {
  /**
   * Creates the queue, or updates its settings. Idempotent, also with many processes at once; each process defines the
   * queues that it uses.
   */
  define(queue: QueueDefinition): Promise<void>;
  /** Returns the job's id, or null if a job with the same `dedupeKey` is still waiting or running. */
  enqueue(queue: string, data: JobData, options?: EnqueueOptions): Promise<string | null>;
  /** Starts to process jobs. If the handler rejects, the job is retried, and finally becomes a dead letter. */
  work(queue: string, options: WorkOptions, handler: JobHandler): Promise<QueueWorker>;
  /**
   * Enqueues jobs by a cron expression (UTC, to the minute), once for all processes and up to half a minute late. The same
   * name replaces the schedule. An occurrence is skipped while the previous one waits or runs. After a time without any
   * process, one missed occurrence is enqueued.
   */
  schedule(queue: string, cron: string, data: JobData): Promise<void>;
  unschedule(queue: string): Promise<void>;

  /** For the queues that this process has defined. */
  names(): readonly string[];
  counts(queue: string): Promise<QueueCounts>;
  /** Newest first; with `after`, those that follow the last one of the previous page. */
  deadLetters(queue: string, limit: number, after?: DeadLetterPlace): Promise<readonly DeadLetter[]>;
  /**
   * Runs dead letters again under their old ids, with all retries; without ids, all of them. A dead letter stays if a job
   * with the same `dedupeKey` waits or runs. Returns how many will run.
   */
  redrive(queue: string, ids?: readonly string[]): Promise<number>;
  /** Deletes dead letters. Returns how many were deleted; jobs that are no longer dead letters are not affected. */
  discard(queue: string, ids: readonly string[]): Promise<number>;

  /** Takes no new jobs. Running ones may finish within `deadlineMs`; the others are returned to the queue. */
  stop(deadlineMs: number): Promise<void>;
}

export type JobData = { readonly [key: string]: unknown };

export interface QueueDefinition {
  readonly name: string;
  /** The number of retries after the first run. */
  readonly retries: number;
  /** Before the first retry; doubled each time, with jitter, up to `retryDelayMaxSeconds`. */
  readonly retryDelaySeconds: number;
  readonly retryDelayMaxSeconds: number;
  /** A run longer than this counts as failed. */
  readonly runSeconds: number;
  /** A worker without a heartbeat for this long counts as dead: its run has failed, and the job is retried. At least 10. */
  readonly heartbeatSeconds: number;
}

export interface EnqueueOptions {
  /** The job exists if and only if this transaction commits. */
  readonly within?: Transaction;
  readonly dedupeKey?: string;
  readonly startAfter?: Date;
  /** The owner of the job, such as a company. Jobs with owners are processed in turns, one owner after the other. */
  readonly owner?: string;
}

interface WorkOptions {
  /** The number of concurrent jobs in this process. */
  readonly concurrency: number;
  /**
   * The number of concurrent jobs of one owner in this process. If set, jobs are taken in turns: the oldest of each owner,
   * then again. Otherwise the oldest job is next, regardless of its owner.
   */
  readonly perOwner?: number;
}

export interface Job {
  /** As returned by `enqueue`. */
  readonly id: string;
  readonly data: JobData;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Aborts when the run takes too long or the process stops. */
  readonly signal: AbortSignal;
}

export type JobHandler = (job: Job) => Promise<void>;

/** A queue and the handler of its jobs. Each module describes its background work with it. */
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
   * `failing` while the queue is unreachable or has not been polled for long: jobs wait. The worker retries, and its
   * running jobs continue.
   */
  readonly state: 'running' | 'failing' | 'stopped';
  /** The number of running jobs. */
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

/** A cursor in the list of dead letters. It stays valid when others are redriven or discarded. */
export interface DeadLetterPlace {
  /** The id of the job. */
  readonly id: string;
  readonly failedAt: Date;
}

export interface DeadLetter extends DeadLetterPlace {
  readonly data: JobData;
  /** Of the last run, at most 2,000 characters. */
  readonly error: string;
}

/** The size of a queue, for monitoring. */
export interface QueueDepth extends QueueCounts {
  readonly name: string;
  /** How long the oldest job that is due has waited; null if none waits. */
  readonly oldestWaitingSeconds: number | null;
}
