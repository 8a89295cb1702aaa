import type { Clock, ClockTimer, PgBoss } from 'pg-boss';
import type { Log } from '../../ports/log.ts';
import type { BossTables, QueueOutlook } from './boss-tables.ts';

/** Notifications announce new jobs at once; this poll finds jobs whose notification was lost. */
const CHECK_EVERY_MS = 30_000;
/** The poll while LISTEN is not available, or after the database did not answer. */
const CHECK_WITHOUT_NOTICES_EVERY_MS = 2_000;
/**
 * A failure may also have closed the listening connection. Bun reopens it with increasing delays: it took 15 s after an
 * outage of 45 s.
 */
const NOTICES_IN_DOUBT_MS = 120_000;
const SHORTEST_MS = 20;
/** Two polls and the longest statement: after this time without a poll, polling counts as stopped. */
const SILENT_MS = 2 * CHECK_EVERY_MS + 60_000;

export interface JobSupervisor {
  /** Calls `wake` whenever there may be a job. */
  watch(queue: string, wake: () => void): { end(): void };
  wake(queue: string): void;
  /** Polls now, or again after the current poll. */
  check(): void;
  /** Notifications arrive (again). Earlier ones may have been lost. */
  noticesArrive(): void;
  /** A statement failed: polls again soon. */
  retryAfterFailure(error: unknown): void;
  /** The last poll failed, or is too long ago. */
  isFailing(): boolean;
  stop(): void;
}

interface JobSupervisorOptions {
  readonly boss: PgBoss;
  readonly tables: BossTables;
  readonly clock: Clock;
  readonly log: Log;
  readonly isListening: () => boolean;
}

/**
 * Polls all queues of this process in one statement: which have a job that is due, when the next one will be, and which
 * workers have no heartbeat. An idle process sends two statements per minute regardless of its number of queues, and a
 * delayed job or a retry still starts when it is due.
 */
export function createJobSupervisor({
  boss,
  tables,
  clock,
  log,
  isListening,
}: JobSupervisorOptions): JobSupervisor {
  const wakers = new Map<string, Set<() => void>>();
  let timer: ClockTimer | null = null;
  let checking = false;
  let again = false;
  let failing = false;
  let checkedAtMs = clock.now();
  let inDoubtUntil = 0;
  let stopped = false;

  function wake(queue: string): void {
    for (const waker of wakers.get(queue) ?? []) waker();
  }

  function scheduleCheck(delayMs: number): void {
    if (timer !== null) clock.clearTimeout(timer);
    timer = stopped ? null : clock.setTimeout(check, delayMs);
  }

  function check(): void {
    if (checking) {
      again = true;
      return;
    }
    if (stopped || wakers.size === 0) return;
    checking = true;
    again = false;
    checkQueues()
      .then(recovered, retryAfterFailure)
      .finally(() => {
        checking = false;
        if (again) check();
      });
  }

  async function checkQueues(): Promise<void> {
    const outlooks = await tables.outlook([...wakers.keys()]);
    const byNotice = isListening() && clock.now() >= inDoubtUntil;
    let nextMs = byNotice ? CHECK_EVERY_MS : CHECK_WITHOUT_NOTICES_EVERY_MS;
    for (const outlook of outlooks) {
      if (outlook.ready) wake(outlook.name);
      if (await failLapsed(outlook)) again = true;
      for (const delayMs of [outlook.startsInMs, outlook.lapsesInMs]) {
        if (delayMs !== null) nextMs = Math.min(nextMs, Math.max(delayMs, SHORTEST_MS));
      }
    }
    scheduleCheck(Math.ceil(nextMs));
  }

  /** A lost run counts as a failed one: a job that always kills its worker must become a dead letter. */
  async function failLapsed({ name, lapsesInMs }: QueueOutlook): Promise<boolean> {
    if (lapsesInMs === null || lapsesInMs > 0) return false;
    const lapsed = await tables.lapsed(name);
    for (const { id, retryCount, silent } of lapsed) {
      const message = silent ? 'its worker went silent' : 'it ran longer than allowed';
      log.warn('a job run is given up', { queue: name, jobId: id, attempt: retryCount + 1, reason: message });
      await boss.fail(name, { id, retryCount }, { message });
    }
    return lapsed.length > 0;
  }

  function recovered(): void {
    if (failing) log.info('the job queue works again');
    failing = false;
    checkedAtMs = clock.now();
  }

  function retryAfterFailure(error: unknown): void {
    if (!failing) log.warn('the job queue cannot reach its tables; it will retry', { error });
    failing = true;
    inDoubtUntil = clock.now() + NOTICES_IN_DOUBT_MS;
    scheduleCheck(CHECK_WITHOUT_NOTICES_EVERY_MS);
  }

  function noticesArrive(): void {
    inDoubtUntil = 0;
    check();
  }

  return {
    watch(queue, waker) {
      if (wakers.size === 0) checkedAtMs = clock.now();
      const others = wakers.get(queue) ?? new Set();
      wakers.set(queue, others.add(waker));
      check();
      return {
        end() {
          others.delete(waker);
          if (others.size === 0 && wakers.get(queue) === others) wakers.delete(queue);
        },
      };
    },
    wake,
    check,
    noticesArrive,
    retryAfterFailure,
    isFailing: () => failing || clock.now() - checkedAtMs > SILENT_MS,
    stop() {
      stopped = true;
      scheduleCheck(0);
    },
  };
}
