import type { Timer } from '../../../ports/clock.ts';
import type { Listener, Statements } from '../../../ports/database.ts';
import { SCORER_VERSION } from '../facts/facts.ts';
import { INDEX_LIFETIME_MS } from './company-index.ts';
import {
  createGeneratorCounts,
  type DesiredState,
  type GeneratorProcess,
  type GeneratorState,
  HEARTBEAT_MS,
  purgeGoneProcesses,
  readDesiredState,
  recordHeartbeat,
  removeProcess,
  setDesiredState,
} from './generator-status.ts';
import { workOffChanges } from './process-changes.ts';
import { type PairWorkParts, workOffPairs } from './process-pairs.ts';
import { rerankBest } from './rerank.ts';

/**
 * The match score generator of one process.
 *
 *   stopped      The desired state is stopped. Nothing is claimed.
 *   running      The desired state is running. It waits for work, or for the pause between two batches.
 *   processing   A batch is claimed and in progress: changed talents and jobs, then pairs.
 *
 * The desired state is stored in the database, applies to all processes, and survives restarts; initially it is
 * running. Each process reads it before each batch, and immediately when notified of a change. A stop takes effect
 * after the current batch, never within it; a start before that only cancels the stop. While the desired state cannot
 * be read, the last known one applies.
 *
 * A process that closes finishes its batch first. One that dies leaves only a claim, which expires.
 */
export interface Generator {
  /** Applies to all processes. Idempotent; false if it was already so. */
  setDesiredState(desired: DesiredState): Promise<boolean>;
  own(): GeneratorProcess;
  /** Whether its last turn failed; it keeps retrying. */
  isFailing(): boolean;
  /** Finishes the batch; after `deadlineMs`, calls to models are aborted. */
  close(deadlineMs: number): Promise<void>;
}

export interface GeneratorParts extends PairWorkParts {
  readonly pace?: Partial<GeneratorPace>;
}

interface GeneratorPace {
  /** Changed talents and jobs per batch. A call to the embed alias contains one or two texts of each. */
  readonly changesAtOnce: number;
  readonly pairsAtOnce: number;
  /** Pause between two batches, so that others can use the database. */
  readonly pauseMs: number;
  /** How long it waits for a notification before it polls. */
  readonly idleMs: number;
  /** Much longer than a batch takes. The claims of a dead process are free after this time. */
  readonly leaseMs: number;
  readonly sweepMs: number;
}

const USUAL_PACE: GeneratorPace = {
  changesAtOnce: 16,
  pairsAtOnce: 500,
  pauseMs: 10,
  idleMs: 1_000,
  leaseMs: 120_000,
  sweepMs: 60_000,
};

const AFTER_A_FAULT_MS = 5_000;

export async function startGenerator(parts: GeneratorParts): Promise<Generator> {
  const { database, clock, log, secrets, modelCalls } = parts;
  const pace = { ...USUAL_PACE, ...parts.pace };
  const id = secrets.newId();
  const startedAtMs = clock.now();
  const counts = createGeneratorCounts(clock);
  const ending = new AbortController();
  let state: GeneratorState = 'stopped';
  let lastDesired: DesiredState = 'stopped';
  let runningSinceMs: number | null = null;
  let isClosed = false;
  let isWoken = false;
  let waking = new AbortController();
  /** By uptime: a clock that is set back must stop neither heartbeats nor sweeps. */
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  const served: { changes?: string | undefined; pairs?: string | undefined } = {};

  const own = (): GeneratorProcess => ({ id, state, counts: counts.read(), runningSinceMs });
  const claim = (limit: number, after: string | undefined) => ({
    id: secrets.newId(),
    nowMs: clock.now(),
    leaseMs: pace.leaseMs,
    limit,
    after,
  });

  function wake(): void {
    isWoken = true;
    waking.abort();
  }

  async function pause(ms: number): Promise<void> {
    if (isWoken || isClosed) isWoken = false;
    else await clock.sleep(ms, waking.signal);
    if (waking.signal.aborted) waking = new AbortController();
    isWoken = false;
  }

  function begin(): void {
    if (state !== 'processing') counts.batchBegins();
    become('processing');
  }

  /** Changes by users are processed first, then pairs, so that they do not wait for a full sweep. */
  async function batch(): Promise<boolean> {
    const working = { ...parts, onClaimed: begin };
    const changes = await workOffChanges(working, claim(pace.changesAtOnce, served.changes), ending.signal);
    served.changes = changes.lastServed;
    const beganAtMs = clock.now();
    const pairs = await workOffPairs(working, claim(pace.pairsAtOnce, served.pairs));
    served.pairs = pairs.lastServed;
    if (pairs.claimed > 0) {
      counts.note({ ...pairs, tookMs: clock.now() - beganAtMs });
      await rerankBest(
        { database, log, modelCalls, vocabulary: parts.vocabulary },
        pairs.scored,
        ending.signal,
      );
    }
    return changes.claimed + pairs.claimed > 0;
  }

  async function report(isDue: boolean): Promise<void> {
    if (!isDue && clock.uptimeMs() - reportedAtMs < HEARTBEAT_MS) return;
    reportedAtMs = clock.uptimeMs();
    await recordHeartbeat(database, own(), { startedAtMs, nowMs: clock.now() });
  }

  function become(next: GeneratorState): void {
    if (next === 'stopped') runningSinceMs = null;
    else runningSinceMs ??= clock.now();
    state = next;
  }

  async function turn(): Promise<void> {
    const desired = await readDesiredState(database);
    const isNew = desired !== lastDesired;
    lastDesired = desired;
    become(desired);
    await report(isNew);
    if (desired === 'stopped') return await pause(pace.idleMs);
    const hasWorked = await batch().finally(() => become('running'));
    await report(false);
    if (hasWorked) return await pause(pace.pauseMs);
    if (clock.uptimeMs() - sweptAtMs >= pace.sweepMs) {
      sweptAtMs = clock.uptimeMs();
      if ((await sweep(database, clock.now(), modelCalls.embedModel())) > 0) return;
    }
    await pause(pace.idleMs);
  }

  async function run(): Promise<void> {
    while (!isClosed) {
      try {
        await turn();
        if (hasFailed) log.info('the match score generator works again');
        hasFailed = false;
      } catch (error) {
        // Logged once: while the database is unavailable every turn fails.
        if (!hasFailed && !isClosed) log.error('the match score generator failed and tries again', { error });
        hasFailed = true;
        isWoken = false;
        if (!isClosed) await clock.sleep(AFTER_A_FAULT_MS, waking.signal);
      }
    }
  }

  const listener: Listener | null = await database
    .listen('match_changes', wake, wake)
    .catch((error: unknown) => {
      // It polls instead, with a slight delay.
      log.warn('the match score generator receives no notifications of changes and polls instead', { error });
      return null;
    });
  const running = run();
  return {
    own,
    isFailing: () => hasFailed,
    async setDesiredState(desired) {
      const isChanged = await setDesiredState(database, desired, new Date(clock.now()));
      // A batch in progress is finished first; otherwise the state changes immediately.
      if (state !== 'processing') become(desired);
      wake();
      return isChanged;
    },
    async close(deadlineMs) {
      isClosed = true;
      wake();
      const deadline: Timer = clock.after(deadlineMs, () => ending.abort());
      await running;
      deadline.cancel();
      await listener?.close();
      await removeProcess(database, id).catch(() => {});
    },
  };
}

/** Retired rows are kept until every index that was read earlier has expired. */
const GONE_ROWS_MS = 2 * INDEX_LIFETIME_MS;
const EMBED_AGAIN_MS = 600_000;
const SWEPT_AT_ONCE = 200;

/**
 * Maintenance, a little at a time and only while nothing else waits: deletes expired rows, and enqueues subjects whose
 * facts come from an earlier scorer or whose vector is missing or of another model than `embedModel`. Returns how many
 * were enqueued.
 */
export async function sweep(
  statements: Statements,
  nowMs: number,
  embedModel: string | null,
): Promise<number> {
  await statements.query('delete from match_subjects where not is_live and written_at < $1', [
    new Date(nowMs - GONE_ROWS_MS),
  ]);
  await purgeGoneProcesses(statements, nowMs);
  const rows = await statements.query(
    `with old as (
         (select subject_id, kind, company_id from match_subjects
          where is_live and scorer_version < $1 limit ${SWEPT_AT_ONCE})
         union
         (select subject_id, kind, company_id from match_subjects
          where is_live and written_at < $2 and (vector is null or embed_model <> $3)
          limit ${SWEPT_AT_ONCE}))
     insert into match_changes (subject_id, kind, company_id, priority)
     select subject_id, kind, company_id, 1 from old order by 1 on conflict (subject_id) do nothing returning 1`,
    [SCORER_VERSION, new Date(nowMs - EMBED_AGAIN_MS), embedModel],
  );
  return rows.length;
}
