import type { Statements } from '../../ports/database.ts';
import { type CountsNow, sumOfCounts } from './generator-counts.ts';

export type GeneratorState = 'stopped' | 'running' | 'processing';
export type GeneratorWish = 'running' | 'stopped';

/** A process that runs the generator, as it last told of itself. */
export interface GeneratorProcess {
  readonly id: string;
  readonly state: GeneratorState;
  readonly counts: CountsNow;
  /** Since when it runs; null while it is stopped. */
  readonly runningSinceMs: number | null;
}

/** A process tells of itself this often, and counts as gone when it has not for six times as long. */
export const TELL_MS = 5_000;
const GONE_MS = 30_000;

export async function readWish(statements: Statements): Promise<GeneratorWish> {
  const rows = await statements.query<{ wish: GeneratorWish }>('select wish from match_generator');
  return rows[0]?.wish ?? 'running';
}

/** For all processes, now and after every restart. False where it was so already. */
export async function setWish(
  statements: Statements,
  wish: GeneratorWish,
  changedAt: Date,
): Promise<boolean> {
  const rows = await statements.query(
    'update match_generator set wish = $1, changed_at = $2 where wish <> $1 returning wish',
    [wish, changedAt],
  );
  await statements.query(`select pg_notify('match_changes', '')`);
  return rows.length > 0;
}

export async function tellProcess(
  statements: Statements,
  { id, state, counts, runningSinceMs }: GeneratorProcess,
  { startedAtMs, nowMs }: { readonly startedAtMs: number; readonly nowMs: number },
): Promise<void> {
  await statements.query(
    `insert into match_processes (id, state, counts, started_at, seen_at) values ($1, $2, $3, $4, $5)
     on conflict (id) do update set state = excluded.state, counts = excluded.counts, seen_at = excluded.seen_at`,
    [id, state, { ...counts, runningSinceMs }, new Date(startedAtMs), new Date(nowMs)],
  );
}

export async function forgetProcess(statements: Statements, id: string): Promise<void> {
  await statements.query('delete from match_processes where id = $1', [id]);
}

export async function forgetGoneProcesses(statements: Statements, nowMs: number): Promise<void> {
  await statements.query('delete from match_processes where seen_at < $1', [new Date(nowMs - GONE_MS)]);
}

/** All that tell of themselves; for the one that asks, what it knows itself, which is newer. */
export async function listProcesses(
  statements: Statements,
  nowMs: number,
  own: GeneratorProcess | null,
): Promise<readonly GeneratorProcess[]> {
  type Told = CountsNow & { readonly runningSinceMs: number | null };
  const rows = await statements.query<{ id: string; state: GeneratorState; counts: Told }>(
    'select id, state, counts from match_processes where seen_at >= $1 order by started_at, id',
    [new Date(nowMs - GONE_MS)],
  );
  const others = rows
    .filter(({ id }) => id !== own?.id)
    .map(({ id, state, counts: { runningSinceMs, ...counts } }) => ({ id, state, counts, runningSinceMs }));
  return own === null ? others : [own, ...others];
}

/** Pairs and changed talents and jobs that wait or are worked on; not those that failed for good. */
export async function queueSize(statements: Statements): Promise<number> {
  const rows = await statements.query<{ size: bigint }>(
    `select (select count(*) from match_pairs where failed_at is null)
       + (select count(*) from match_changes where due_at < 'infinity') as size`,
  );
  return Number(rows[0]?.size ?? 0n);
}

export interface GeneratorStatus {
  readonly state: GeneratorState;
  readonly wish: GeneratorWish;
  readonly uptimeSeconds: number;
  readonly currentBatch: number;
  readonly queueSize: number;
}

/** A-9, over all processes: processing while one of them is; up since the first of them that runs. */
export async function readStatus(
  statements: Statements,
  nowMs: number,
  own: GeneratorProcess | null,
): Promise<GeneratorStatus> {
  const wish = await readWish(statements);
  const processes = await listProcesses(statements, nowMs, own);
  const since = processes.flatMap(({ runningSinceMs }) => runningSinceMs ?? []);
  const isProcessing = processes.some(({ state }) => state === 'processing');
  const isRunning = processes.some(({ state }) => state === 'running');
  const state = isProcessing ? 'processing' : wish === 'running' && isRunning ? 'running' : 'stopped';
  const uptimeMs = state === 'stopped' || since.length === 0 ? 0 : nowMs - Math.min(...since);
  return {
    state,
    wish,
    uptimeSeconds: Math.max(0, Math.floor(uptimeMs / 1_000)),
    currentBatch: sumOfCounts(processes.map(({ counts }) => counts)).batches,
    queueSize: await queueSize(statements),
  };
}
