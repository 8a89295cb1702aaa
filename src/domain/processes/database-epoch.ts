import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';

interface DatabaseEpochParts {
  readonly database: Statements;
  readonly sharedState: Pick<SharedState, 'get' | 'set'>;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly log: Log;
  /** What this process has cached of the database may never have been, or may not be any more. */
  readonly onStepBack: () => void;
}

export interface DatabaseEpoch {
  /** Something that was committed is missing in the database. Reported once a minute at most. */
  suspect(evidence: Readonly<Record<string, unknown>>): void;
  /** How often this process has noticed that the database went back. */
  stepBacks(): number;
  close(): Promise<void>;
}

interface Place {
  readonly epoch: string;
  readonly position: bigint;
}

const CHECK_MS = 5_000;
const QUIET_MS = 60_000;
const REMEMBERED = 'database-epoch';
const REMEMBERED_MS = 30 * 24 * 3_600_000;

/**
 * Notices that the database went back in time: it was restored from a backup, or a fail-over lost its last commits. Every
 * process advances the row of `database_epoch` and remembers how far it was, in its memory and in shared state. A
 * position is read from there before the row is advanced, so a later one must be higher. Where it is not, the first
 * process that notices changes the epoch, and all others notice by that. What was lost between two advances shows in
 * levels of credits that went back, which `suspect` is called for.
 */
export function startDatabaseEpoch(parts: DatabaseEpochParts): DatabaseEpoch {
  const { database, sharedState, clock, secrets, log, onStepBack } = parts;
  let own: Place | null = null;
  let stepBacks = 0;
  let quietUntilMs = 0;
  let timer: Timer | null = null;
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();

  async function check(): Promise<void> {
    const shared = await remembered();
    const before = own ?? shared;
    const [row] = await database.query<Place>(
      `update database_epoch set position = position + 1 returning epoch, position`,
      [],
      { isIndependent: true },
    );
    if (row === undefined) return;
    const passed = [own, shared].find(
      (place) => place?.epoch === row.epoch && place.position >= row.position,
    );
    if (passed) {
      await change(row, { knownPosition: String(passed.position), position: String(row.position) });
      return;
    }
    await remember(row);
    // Another process has noticed, or the backup is from before the last change.
    if (before !== null && before.epoch !== row.epoch) report({ epoch: row.epoch });
  }

  /** Of several processes that notice at the same time one changes the epoch, and each drops what it has cached. */
  async function change(seen: Place, evidence: Readonly<Record<string, unknown>>): Promise<void> {
    const [changed] = await database.query<Place>(
      `update database_epoch set epoch = $2, changed_at = now() where epoch = $1 returning epoch, position`,
      [seen.epoch, secrets.newId()],
    );
    if (changed !== undefined) await remember(changed);
    report(evidence);
  }

  function report(evidence: Readonly<Record<string, unknown>>): void {
    quietUntilMs = clock.uptimeMs() + QUIET_MS;
    stepBacks += 1;
    log.error(
      'the database has lost commits, by a restore or a fail-over: caches are dropped; run turnpike audit and replay the payments since then',
      evidence,
    );
    onStepBack();
  }

  async function remembered(): Promise<Place | null> {
    const text = await sharedState.get(REMEMBERED).catch(() => null);
    const [epoch = '', position = ''] = text?.split(' ') ?? [];
    return /^\d{1,19}$/.test(position) ? { epoch, position: BigInt(position) } : null;
  }

  async function remember(place: Place): Promise<void> {
    own = place;
    // Without shared state this process still knows by itself.
    await sharedState.set(REMEMBERED, `${place.epoch} ${place.position}`, REMEMBERED_MS).catch(() => {});
  }

  async function changeBySuspicion(evidence: Readonly<Record<string, unknown>>): Promise<void> {
    const [row] = await database.query<Place>('select epoch, position from database_epoch');
    if (row !== undefined) await change(row, evidence);
  }

  /** While the database is unavailable nothing can be noticed; the next check does. */
  function run(work: () => Promise<void>): void {
    running = running
      .then(work)
      .catch((error: unknown) => log.debug('the database epoch cannot be checked', { error }));
  }

  function checkLater(): void {
    if (isClosed) return;
    timer = clock.after(CHECK_MS, () => {
      run(check);
      void running.then(checkLater);
    });
  }

  run(check);
  checkLater();
  return {
    suspect(evidence) {
      if (clock.uptimeMs() < quietUntilMs) return;
      quietUntilMs = clock.uptimeMs() + QUIET_MS;
      run(() => changeBySuspicion(evidence));
    },
    stepBacks: () => stepBacks,
    async close() {
      isClosed = true;
      timer?.cancel();
      await running;
    },
  };
}
