import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';

interface DatabaseClockParts {
  readonly clock: Clock;
  readonly database: Statements;
  readonly log: Log;
}

export interface DatabaseClock extends Clock {
  close(): Promise<void>;
}

const READ_EVERY_MS = 10_000;
/** An answer that took longer says too little about the moment at which it was read. */
const SLOW_MS = 1_000;
/** Leases and heartbeats tolerate less than this; a larger difference is the operator's to correct. */
const REPORTED_MS = 5_000;

/**
 * The database's clock, which all processes share: for leases, due times and heartbeats that one process writes and
 * another compares. It is read every ten seconds and continues by the machine's uptime in between, so neither a wrong
 * clock of this host nor a change of it matters. While the database is unavailable, it continues by uptime.
 */
export async function openDatabaseClock({
  clock,
  database,
  log,
}: DatabaseClockParts): Promise<DatabaseClock> {
  let aheadOfUptimeMs = 0;
  let isDifferent = false;
  let isClosed = false;
  let timer: Timer | null = null;
  let reading: Promise<void> = Promise.resolve();

  async function read(isFirst: boolean): Promise<void> {
    const sentAtMs = clock.uptimeMs();
    const [row] = await database.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
      [],
      { isIndependent: true },
    );
    const tookMs = clock.uptimeMs() - sentAtMs;
    if (row === undefined || (tookMs > SLOW_MS && !isFirst)) return;
    aheadOfUptimeMs = Math.round(row.ms - sentAtMs - tookMs / 2);
    reportDifference(tookMs);
  }

  function reportDifference(tookMs: number): void {
    const differenceMs = clock.now() - now();
    const wasDifferent = isDifferent;
    isDifferent = Math.abs(differenceMs) > REPORTED_MS + tookMs;
    if (isDifferent && !wasDifferent) {
      log.warn('the clock of this host and that of the database differ: synchronise them', {
        aheadSeconds: Math.round(differenceMs / 1_000),
      });
    } else if (wasDifferent && !isDifferent) {
      log.info('the clock of this host and that of the database agree again');
    }
  }

  const now = () => Math.floor(clock.uptimeMs() + aheadOfUptimeMs);

  function readLater(): void {
    timer = clock.after(READ_EVERY_MS, () => {
      reading = read(false)
        .catch((error: unknown) => log.debug("the database's clock cannot be read", { error }))
        .then(() => {
          if (!isClosed) readLater();
        });
    });
  }

  await read(true);
  readLater();
  return {
    now,
    uptimeMs: clock.uptimeMs,
    after: clock.after,
    turn: clock.turn,
    sleep: clock.sleep,
    async close() {
      isClosed = true;
      timer?.cancel();
      await reading;
    },
  };
}
