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
  /** Called if the database went back: data that this process has cached from it may no longer exist there. */
  readonly onStepBack: () => void;
}

export interface DatabaseEpoch {
  /** Reports that committed data is missing in the database. At most one report per minute is processed. */
  suspect(evidence: Readonly<Record<string, unknown>>): void;
  /** How often this process has detected that the database went back. */
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
 * Detects that the database went back in time: it was restored from a backup, or a fail-over lost its last commits.
 * Every process advances the row of `database_epoch` and remembers its position, in memory and in shared state. The
 * remembered position is read before the row is advanced, so the new one must be higher. If it is not, the first
 * process that notices changes the epoch, by which all others notice. Commits that were lost between two advances show
 * as credit levels that went back, for which `suspect` is called.
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
    // Another process has noticed it, or the backup is older than the last change of the epoch.
    if (before !== null && before.epoch !== row.epoch) report({ epoch: row.epoch });
  }

  /** If several processes notice at the same time, one changes the epoch, and each drops its caches. */
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
    // Without shared state this process still remembers it.
    await sharedState.set(REMEMBERED, `${place.epoch} ${place.position}`, REMEMBERED_MS).catch(() => {});
  }

  async function changeBySuspicion(evidence: Readonly<Record<string, unknown>>): Promise<void> {
    const [row] = await database.query<Place>('select epoch, position from database_epoch');
    if (row !== undefined) await change(row, evidence);
  }

  /** A check fails while the database is unavailable; the next one then detects a loss. */
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
