import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';

/** The services that a process can run. */
export const SERVICE_NAMES = ['gateway', 'backend', 'ai-service'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

export interface ReadinessPart {
  /** For example database, cache or cv_worker. */
  readonly name: string;
  readonly status: 'up' | 'down' | 'running' | 'failing' | 'stopped';
  /** For dependencies, which are called; null for workers. */
  readonly latencyMs: number | null;
}

/** How jobs of a queue ended in one process in the last minutes. */
export interface JobRate {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
}

export interface BreakerReport {
  readonly state: 'closed' | 'open' | 'half-open';
  readonly failuresInARow: number;
  /** In a word, such as 503 or time-out. */
  readonly lastError: { readonly reason: string; readonly atMs: number } | null;
  readonly nextTryAtMs: number | null;
  /** Its targets that are cooling down; older versions do not report them. */
  readonly cooling?: readonly CoolingReport[];
}

/** A target that is tried last, because its provider limits its rate or refuses its key. */
export interface CoolingReport {
  readonly alias: string;
  readonly model: string;
  /** The status, such as 429. */
  readonly reason: string;
  readonly untilMs: number;
}

/** The state of a process, as it reports it. */
export interface ProcessReport {
  readonly parts: readonly ReadinessPart[];
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** How late timers fired recently. */
  readonly eventLoopDelayMs: number;
  /** Null if no workers run. */
  readonly workers: { readonly active: number; readonly idle: number } | null;
  /** By the name of the AI service; empty if the process calls no model. */
  readonly breakers: Readonly<Record<string, BreakerReport>>;
  /** By queue name; empty if the process runs no jobs. */
  readonly jobRates: Readonly<Record<string, JobRate>>;
  /** The machine or container that it runs on; older versions do not report it. */
  readonly machine?: MachineReport;
}

export interface MachineReport {
  readonly cpuCount: number;
  /** Share of all cores in use, 0 to 1. */
  readonly cpuUsedShare: number;
  /** Load average over one minute. */
  readonly load1: number;
  readonly memoryUsedBytes: number;
  /** The total memory, or the limit of the container if that is lower. */
  readonly memoryBytes: number;
  /** The file system of DATA_DIR; null if it cannot be read. */
  readonly disk: { readonly usedBytes: number; readonly totalBytes: number } | null;
}

/** The properties of a process that do not change while it runs. */
interface ProcessName {
  readonly id: string;
  readonly services: readonly ServiceName[];
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly startedAt: Date;
}

export interface ServiceProcess extends ProcessName {
  readonly seenAt: Date;
  /** Its heartbeat is overdue: it hangs, is disconnected or has ended. */
  readonly isStale: boolean;
  readonly report: ProcessReport;
}

/** Ready: a recent heartbeat and no failing dependency or worker. A worker that an operator stopped is not failing. */
export function isReady({ isStale, report }: ServiceProcess): boolean {
  return !isStale && report.parts.every(({ status }) => status !== 'down' && status !== 'failing');
}

/** The interval of a process's reports. It is stale after four intervals without one. */
const HEARTBEAT_MS = 5_000;
const STALE_MS = 20_000;
const KEPT_MS = 3_600_000;
/** Far more than any installation runs; a process that crashes repeatedly leaves a row each time. */
const MOST_PROCESSES = 500;

export async function storeProcessReport(
  statements: Statements,
  { id, services, host, pid, version, startedAt }: ProcessName,
  report: ProcessReport,
  nowMs: number,
): Promise<void> {
  await statements.query(
    `insert into service_processes (id, services, host, pid, version, started_at, seen_at, report)
     values ($1, $2::text[], $3, $4, $5, $6, $7, $8)
     on conflict (id) do update set seen_at = excluded.seen_at, report = excluded.report`,
    [id, services, host.slice(0, 255), pid, version.slice(0, 100), startedAt, new Date(nowMs), { ...report }],
    { isIndependent: true },
  );
}

async function forgetProcess(statements: Statements, id: string): Promise<void> {
  await statements.query('delete from service_processes where id = $1', [id]);
}

/** Deletes processes that were last seen more than an hour ago. */
async function forgetGoneProcesses(statements: Statements, nowMs: number): Promise<void> {
  await statements.query('delete from service_processes where seen_at < $1', [new Date(nowMs - KEPT_MS)], {
    isIndependent: true,
  });
}

/** Stale processes last, otherwise ordered by start time. */
export async function listProcesses(
  statements: Statements,
  nowMs: number,
): Promise<readonly ServiceProcess[]> {
  const rows = await statements.query<Omit<ServiceProcess, 'isStale'>>(
    `select id, services, host, pid, version, started_at as "startedAt", seen_at as "seenAt", report
     from service_processes where seen_at >= $1
     order by (seen_at < $2), started_at, id limit ${MOST_PROCESSES}`,
    [new Date(nowMs - KEPT_MS), new Date(nowMs - STALE_MS)],
  );
  return rows.map((row) => ({ ...row, isStale: nowMs - row.seenAt.getTime() > STALE_MS }));
}

interface ProcessHeartbeatParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
  readonly name: ProcessName;
  /** The current state of this process. */
  report(): Promise<ProcessReport>;
}

interface ProcessHeartbeat {
  /** Deletes the row, so that a process that was stopped regularly is not shown as stale. */
  close(): Promise<void>;
}

const CLOSE_WITHIN_MS = 2_000;
const MOST_BREAKERS = 200;
const MOST_QUEUES = 100;

/**
 * Reports this process every few seconds while it runs. The first report is not awaited: a process that cannot report
 * still does its work.
 */
export function startProcessHeartbeat({
  database,
  clock,
  log,
  name,
  report,
}: ProcessHeartbeatParts): ProcessHeartbeat {
  let timer: Timer | null = null;
  let isClosed = false;
  let isUnavailable = false;
  let beating = beat();

  async function writeHeartbeat(): Promise<void> {
    const current = await report();
    const bounded = {
      ...current,
      breakers: firstOf(current.breakers, MOST_BREAKERS),
      jobRates: firstOf(current.jobRates, MOST_QUEUES),
    };
    await storeProcessReport(database, name, bounded, clock.now());
    await forgetGoneProcesses(database, clock.now());
  }

  async function beat(): Promise<void> {
    try {
      await writeHeartbeat();
      if (isUnavailable) log.info('heartbeats of this process are written again');
      isUnavailable = false;
    } catch (error) {
      if (!isUnavailable && !isClosed)
        log.warn('the heartbeat of this process cannot be written: the process may be shown as stale', {
          error,
        });
      isUnavailable = true;
    }
    if (isClosed) return;
    timer = clock.after(HEARTBEAT_MS, () => {
      beating = beat();
    });
  }

  return {
    async close() {
      isClosed = true;
      timer?.cancel();
      const ended = new AbortController();
      const forget = async () => {
        await beating;
        await forgetProcess(database, name.id);
      };
      // If the database is unavailable, the row expires: the process must not exceed its shutdown deadline because of it.
      await Promise.race([forget().catch(() => undefined), clock.sleep(CLOSE_WITHIN_MS, ended.signal)]);
      ended.abort();
    },
  };
}

function firstOf<Value>(all: Readonly<Record<string, Value>>, most: number): Record<string, Value> {
  return Object.fromEntries(Object.entries(all).slice(0, most));
}
