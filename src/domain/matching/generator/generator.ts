import type { Timer } from '../../../ports/clock.ts';
import type { Listener, Statements } from '../../../ports/database.ts';
import { SCORER_VERSION } from '../facts/facts.ts';
import {
  createGeneratorCounts,
  forgetGoneProcesses,
  forgetProcess,
  type GeneratorProcess,
  type GeneratorState,
  type GeneratorWish,
  readWish,
  setWish,
  TELL_MS,
  tellProcess,
} from './generator-status.ts';
import { workOffChanges } from './process-changes.ts';
import { type PairWorkParts, workOffPairs } from './process-pairs.ts';
import { rerankBest } from './rerank.ts';

/**
 * The match score generator of one process.
 *
 *   stopped      It is wished to be stopped. Nothing is claimed.
 *   running      It is wished to run, and waits: for work, or for the pause between two batches.
 *   processing   A batch is claimed and worked on: changed talents and jobs, then pairs.
 *
 * The wish stands in the database, is everybody's, and outlives every restart; the first one is to run. Each process
 * looks at it before each batch, and at once when it is told of a change. A wish to stop ends processing after the
 * batch, never within it; a wish to start before that moment has no effect but that there is no stop. Where the wish
 * cannot be read the last known one holds.
 *
 * A process that closes ends its batch first. One that dies leaves a claim that runs out, and nothing else.
 */
export interface Generator {
  /** For all processes. Harmless when repeated; false where it was so already. */
  wish(wish: GeneratorWish): Promise<boolean>;
  own(): GeneratorProcess;
  /** Its last turn ended in a fault; it goes on trying. */
  isFailing(): boolean;
  /** Ends the batch; past `deadlineMs` calls to models are broken off. */
  close(deadlineMs: number): Promise<void>;
}

export interface GeneratorParts extends PairWorkParts {
  readonly pace?: Partial<GeneratorPace>;
}

interface GeneratorPace {
  /** Changed talents and jobs of a batch: as many texts as go into a call to the embed alias. */
  readonly changesAtOnce: number;
  readonly pairsAtOnce: number;
  /** Between two batches, so that others have their turn at the database. */
  readonly pauseMs: number;
  /** How long it waits for a message before it looks by itself. */
  readonly idleMs: number;
  /** Far longer than a batch takes. What a dead process held is free after it. */
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
  let lastWish: GeneratorWish = 'stopped';
  let runningSinceMs: number | null = null;
  let isClosed = false;
  let isTold = false;
  let waking = new AbortController();
  let sweptAtMs = 0;
  let toldAtMs = 0;
  let hasFailed = false;

  const own = (): GeneratorProcess => ({ id, state, counts: counts.read(), runningSinceMs });
  const claim = (limit: number) => ({
    id: secrets.newId(),
    nowMs: clock.now(),
    leaseMs: pace.leaseMs,
    limit,
  });

  function wake(): void {
    isTold = true;
    waking.abort();
  }

  async function pause(ms: number): Promise<void> {
    if (isTold || isClosed) isTold = false;
    else await clock.sleep(ms, waking.signal);
    if (waking.signal.aborted) waking = new AbortController();
    isTold = false;
  }

  function begin(): void {
    if (state !== 'processing') counts.batchBegins();
    become('processing');
  }

  /** What a person changed comes first, and its pairs right after it: nobody waits for a sweep to end. */
  async function batch(): Promise<boolean> {
    const working = { ...parts, onClaimed: begin };
    const changes = await workOffChanges(working, claim(pace.changesAtOnce), ending.signal);
    const beganAtMs = clock.now();
    const pairs = await workOffPairs(working, claim(pace.pairsAtOnce));
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

  async function tell(isDue: boolean): Promise<void> {
    if (!isDue && clock.now() - toldAtMs < TELL_MS) return;
    toldAtMs = clock.now();
    await tellProcess(database, own(), { startedAtMs, nowMs: clock.now() });
  }

  function become(next: GeneratorState): void {
    if (next === 'stopped') runningSinceMs = null;
    else runningSinceMs ??= clock.now();
    state = next;
  }

  async function turn(): Promise<void> {
    const wished = await readWish(database);
    const isNew = wished !== lastWish;
    lastWish = wished;
    become(wished);
    await tell(isNew);
    if (wished === 'stopped') return await pause(pace.idleMs);
    const hasWorked = await batch().finally(() => become('running'));
    await tell(false);
    if (hasWorked) return await pause(pace.pauseMs);
    if (clock.now() - sweptAtMs >= pace.sweepMs) {
      sweptAtMs = clock.now();
      if ((await sweep(database, clock.now())) > 0) return;
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
        // Said once: while the database is away every turn fails.
        if (!hasFailed && !isClosed) log.error('the match score generator failed and tries again', { error });
        hasFailed = true;
        isTold = false;
        if (!isClosed) await clock.sleep(AFTER_A_FAULT_MS, waking.signal);
      }
    }
  }

  const listener: Listener | null = await database
    .listen('match_changes', wake, wake)
    .catch((error: unknown) => {
      // It looks by itself, only a little later.
      log.warn('the match score generator is not told of changes', { error });
      return null;
    });
  const running = run();
  return {
    own,
    isFailing: () => hasFailed,
    async wish(wish) {
      const isChanged = await setWish(database, wish, new Date(clock.now()));
      // A batch ends first; what only waits becomes what it is wished to be at once.
      if (state !== 'processing') become(wish);
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
      await forgetProcess(database, id).catch(() => {});
    },
  };
}

/** Rows of what is gone are kept this long for those who hold it in memory (company-index.ts reads anew after half). */
const GONE_KEPT_MS = 3_600_000;
const EMBED_AGAIN_MS = 600_000;
const SWEPT_AT_ONCE = 200;

/**
 * What nobody asked for and yet has to be done, a little at a time and only while nothing else waits: facts read by an
 * earlier scorer, vectors that are missing or of another model than the newest ones. Returns how many were put in line.
 */
export async function sweep(statements: Statements, nowMs: number): Promise<number> {
  await statements.query('delete from match_subjects where not is_live and written_at < $1', [
    new Date(nowMs - GONE_KEPT_MS),
  ]);
  await forgetGoneProcesses(statements, nowMs);
  const rows = await statements.query(
    `with newest as (select embed_model from match_subjects where vector is not null
         order by written_at desc limit 1),
       old as (
         (select subject_id, kind, company_id from match_subjects
          where is_live and scorer_version < $1 limit ${SWEPT_AT_ONCE})
         union
         (select subject_id, kind, company_id from match_subjects
          where is_live and written_at < $2 and (vector is null
            or embed_model <> (select embed_model from newest))
          limit ${SWEPT_AT_ONCE}))
     insert into match_changes (subject_id, kind, company_id, priority)
     select subject_id, kind, company_id, 1 from old order by 1 on conflict (subject_id) do nothing returning 1`,
    [SCORER_VERSION, new Date(nowMs - EMBED_AGAIN_MS)],
  );
  return rows.length;
}
