import type { Statements } from '../../ports/database.ts';
import type { ProcessName, ProcessReport, ServiceProcess } from './process-report.ts';

/** A process tells of itself this often, and is stale when it has not for four times as long. */
export const TELL_MS = 5_000;
const STALE_MS = 20_000;
const KEPT_MS = 3_600_000;
/** Far more than anybody runs; what dies over and over leaves a row each time. */
const MOST_PROCESSES = 500;

export async function tellProcess(
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
  );
}

export async function forgetProcess(statements: Statements, id: string): Promise<void> {
  await statements.query('delete from service_processes where id = $1', [id]);
}

/** Those that died long ago. */
export async function forgetGoneProcesses(statements: Statements, nowMs: number): Promise<void> {
  await statements.query('delete from service_processes where seen_at < $1', [new Date(nowMs - KEPT_MS)]);
}

/** Those that are heard of first, then by when they started. */
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
