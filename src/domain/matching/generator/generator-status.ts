import type { Statements } from '../../../ports/database.ts';

export type GeneratorState = 'stopped' | 'running' | 'processing';
/** The state set by operators, for all processes; it survives restarts. */
export type DesiredState = 'running' | 'stopped';

/** A process that runs the generator, as of its last heartbeat. */
export interface GeneratorProcess {
  readonly id: string;
  readonly state: GeneratorState;
  readonly counts: CountsNow;
  /** When it started running; null while it is stopped. */
  readonly runningSinceMs: number | null;
}

/** A process is considered gone after six missed heartbeats. */
export const HEARTBEAT_MS = 5_000;
const GONE_MS = 6 * HEARTBEAT_MS;

export async function readDesiredState(statements: Statements): Promise<DesiredState> {
  const rows = await statements.query<{ desired: DesiredState }>(
    'select wish as desired from match_generator',
    [],
    { isIndependent: true },
  );
  return rows[0]?.desired ?? 'running';
}

/** Applies to all processes, also after restarts. False if it was already so. */
export async function setDesiredState(
  statements: Statements,
  desired: DesiredState,
  changedAt: Date,
): Promise<boolean> {
  const rows = await statements.query(
    'update match_generator set wish = $1, changed_at = $2 where wish <> $1 returning wish',
    [desired, changedAt],
  );
  await statements.query(`select pg_notify('match_changes', '')`);
  return rows.length > 0;
}

export async function recordHeartbeat(
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

export async function removeProcess(statements: Statements, id: string): Promise<void> {
  await statements.query('delete from match_processes where id = $1', [id]);
}

export async function purgeGoneProcesses(statements: Statements, nowMs: number): Promise<void> {
  await statements.query('delete from match_processes where seen_at < $1', [new Date(nowMs - GONE_MS)]);
}

/** All processes with a recent heartbeat. The caller's own entry replaces the stored one, because it is newer. */
async function listProcesses(
  statements: Statements,
  nowMs: number,
  own: GeneratorProcess | null,
): Promise<readonly GeneratorProcess[]> {
  type StoredCounts = CountsNow & { readonly runningSinceMs: number | null };
  const rows = await statements.query<{ id: string; state: GeneratorState; counts: StoredCounts }>(
    'select id, state, counts from match_processes where seen_at >= $1 order by started_at, id',
    [new Date(nowMs - GONE_MS)],
  );
  const others = rows
    .filter(({ id }) => id !== own?.id)
    .map(({ id, state, counts: { runningSinceMs, ...counts } }) => ({ id, state, counts, runningSinceMs }));
  return own === null ? others : [own, ...others];
}

/** Changed talents and jobs, and pairs, that wait or are in progress; without those that failed permanently. */
export async function queueSize(statements: Statements): Promise<number> {
  const rows = await statements.query<{ size: bigint }>(
    `select (select count(*) from match_pairs where failed_at is null)
       + (select count(*) from match_changes where due_at < 'infinity') as size`,
  );
  return Number(rows[0]?.size ?? 0n);
}

export interface GeneratorStatus {
  readonly state: GeneratorState;
  readonly desiredState: DesiredState;
  readonly uptimeSeconds: number;
  readonly currentBatch: number;
  readonly queueSize: number;
}

/** A-9, over all processes: processing if any process is; the uptime is that of the process running longest. */
export async function readStatus(
  statements: Statements,
  nowMs: number,
  own: GeneratorProcess | null,
): Promise<GeneratorStatus> {
  const desiredState = await readDesiredState(statements);
  const processes = await listProcesses(statements, nowMs, own);
  const since = processes.flatMap(({ runningSinceMs }) => runningSinceMs ?? []);
  const isProcessing = processes.some(({ state }) => state === 'processing');
  const isRunning = processes.some(({ state }) => state === 'running');
  const state = isProcessing ? 'processing' : desiredState === 'running' && isRunning ? 'running' : 'stopped';
  const uptimeMs = state === 'stopped' || since.length === 0 ? 0 : nowMs - Math.min(...since);
  return {
    state,
    desiredState,
    uptimeSeconds: Math.max(0, Math.floor(uptimeMs / 1_000)),
    currentBatch: sumOfCounts(processes.map(({ counts }) => counts)).batches,
    queueSize: await queueSize(statements),
  };
}

/** What one process has computed since it started, by the given clock. */
interface GeneratorCounts {
  /** Records a finished batch of pairs: how many were scored, how many failed, and how long it took. */
  note(ended: { readonly processed: number; readonly failed: number; readonly tookMs: number }): void;
  batchBegins(): void;
  read(): CountsNow;
}

interface CountsNow {
  readonly totalProcessed: number;
  readonly totalErrors: number;
  /** Time spent on batches of pairs, from the claim to the commit. */
  readonly busyMs: number;
  /** Pairs scored in the last 60 seconds. */
  readonly lastMinute: number;
  readonly lastProcessedAtMs: number | null;
  /** Batches started, of changes and of pairs: the number of the current one. */
  readonly batches: number;
}

const NO_COUNTS: CountsNow = {
  totalProcessed: 0,
  totalErrors: 0,
  busyMs: 0,
  lastMinute: 0,
  lastProcessedAtMs: null,
  batches: 0,
};

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

export function createGeneratorCounts(clock: { now(): number }): GeneratorCounts {
  let counts = NO_COUNTS;
  /** Pairs scored per second; at most 61 entries. */
  const bySecond = new Map<number, number>();

  function lastMinute(): number {
    const from = clock.now() - MINUTE_MS;
    let sum = 0;
    for (const [second, count] of bySecond) {
      if ((second + 1) * SECOND_MS <= from || second * SECOND_MS > clock.now()) bySecond.delete(second);
      else sum += count;
    }
    return sum;
  }

  return {
    batchBegins() {
      counts = { ...counts, batches: counts.batches + 1 };
    },
    note({ processed, failed, tookMs }) {
      const nowMs = clock.now();
      const second = Math.floor(nowMs / SECOND_MS);
      lastMinute();
      if (processed > 0) bySecond.set(second, (bySecond.get(second) ?? 0) + processed);
      counts = {
        ...counts,
        totalProcessed: counts.totalProcessed + processed,
        totalErrors: counts.totalErrors + failed,
        busyMs: counts.busyMs + tookMs,
        lastProcessedAtMs: processed > 0 ? nowMs : counts.lastProcessedAtMs,
      };
    },
    read: () => ({ ...counts, lastMinute: lastMinute() }),
  };
}

function sumOfCounts(all: readonly CountsNow[]): CountsNow {
  return all.reduce(
    (sum, one) => ({
      totalProcessed: sum.totalProcessed + one.totalProcessed,
      totalErrors: sum.totalErrors + one.totalErrors,
      busyMs: sum.busyMs + one.busyMs,
      lastMinute: sum.lastMinute + one.lastMinute,
      lastProcessedAtMs: latest(sum.lastProcessedAtMs, one.lastProcessedAtMs),
      batches: sum.batches + one.batches,
    }),
    NO_COUNTS,
  );
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** A-11, field by field, with the names of the interface. */
interface GeneratorMetrics extends ProcessMetrics {
  readonly queue_depth: number;
  /** The worst state of the services behind the embed and extract aliases. */
  readonly circuit_breaker_state: 'CLOSED' | 'OPEN' | 'HALF-OPEN';
  readonly processes: readonly (ProcessMetrics & { readonly id: string; readonly status: GeneratorState })[];
}

interface ProcessMetrics {
  /** Matches computed and stored since the last restart. */
  readonly total_processed: number;
  readonly total_errors: number;
  /** Average time of one match: from the claim of a batch to the commit, divided by its scored and failed pairs. */
  readonly avg_processing_time_ms: number;
  /** Matches in the last 60 seconds. */
  readonly throughput_per_minute: number;
  /** ISO 8601, UTC; null before the first match. */
  readonly last_processed_at: string | null;
  /** Matches per second while a batch is being processed. */
  readonly processing_rate: number;
  /** Percentage of failed calculations. */
  readonly error_rate: number;
}

/** The sum over all live processes, and each process separately. */
export async function readMetrics(
  statements: Statements,
  {
    nowMs,
    own,
    breakerState,
  }: {
    readonly nowMs: number;
    readonly own: GeneratorProcess | null;
    readonly breakerState: 'closed' | 'open' | 'half-open';
  },
): Promise<GeneratorMetrics> {
  const processes = await listProcesses(statements, nowMs, own);
  const total = sumOfCounts(processes.map(({ counts }) => counts));
  // Processes work in parallel, so the total rate is the sum of their rates.
  const pace = processes.reduce((sum, { counts }) => sum + paceOf(counts), 0);
  return {
    ...metricsOf(total),
    processing_rate: twoDecimals(pace),
    queue_depth: await queueSize(statements),
    circuit_breaker_state: breakerState.toUpperCase() as GeneratorMetrics['circuit_breaker_state'],
    processes: processes.map(({ id, state, counts }) => ({ id, status: state, ...metricsOf(counts) })),
  };
}

function metricsOf(counts: CountsNow): ProcessMetrics {
  const { totalProcessed, totalErrors, busyMs, lastMinute, lastProcessedAtMs } = counts;
  const tried = totalProcessed + totalErrors;
  return {
    total_processed: totalProcessed,
    total_errors: totalErrors,
    avg_processing_time_ms: tried === 0 ? 0 : twoDecimals(busyMs / tried),
    throughput_per_minute: lastMinute,
    last_processed_at: lastProcessedAtMs === null ? null : new Date(lastProcessedAtMs).toISOString(),
    processing_rate: twoDecimals(paceOf(counts)),
    error_rate: tried === 0 ? 0 : twoDecimals((100 * totalErrors) / tried),
  };
}

function paceOf({ totalProcessed, busyMs }: CountsNow): number {
  return busyMs === 0 ? 0 : (totalProcessed * 1_000) / busyMs;
}

function twoDecimals(value: number): number {
  return Math.round(value * 100) / 100;
}
