import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import type { Statements } from '../../ports/database.ts';
import { openDatabaseClock } from './database-clock.ts';

const DATABASE_MS = 1_900_000_000_000;

/** A host whose clock is 90 s ahead of the database's. */
async function open() {
  const clock = createManualClock(DATABASE_MS + 90_000);
  const beganAtMs = clock.uptimeMs();
  const { log, entries } = createRecordingLog();
  const answers = { takeMs: 0, isAway: false, driftMs: 0 };
  const databaseNow = () => DATABASE_MS + clock.uptimeMs() - beganAtMs + answers.driftMs;
  const query = async () => {
    if (answers.isAway) throw new Error('the database is away');
    const ms = databaseNow();
    if (answers.takeMs > 0) await clock.sleep(answers.takeMs);
    return [{ ms }];
  };
  const database = { query } as unknown as Statements;
  const databaseClock = await openDatabaseClock({ clock, database, log });
  const warnings = () => entries.filter(({ level }) => level === 'warn').map(({ context }) => context);
  return { clock, databaseClock, databaseNow, answers, warnings };
}

test('it has the time of the database, whatever the clock of the host says, and reports the difference once', async () => {
  const { clock, databaseClock, databaseNow, warnings } = await open();
  expect(databaseClock.now()).toBe(databaseNow());
  clock.step(-3_600_000);
  await clock.advance(4_000);
  expect(databaseClock.now()).toBe(databaseNow());
  await clock.advance(60_000);
  expect(databaseClock.now()).toBe(databaseNow());
  expect(warnings()).toMatchObject([{ aheadSeconds: 90 }]);
});

test('it follows a clock of the database that is set', async () => {
  const { clock, databaseClock, databaseNow, answers } = await open();
  answers.driftMs = 30_000;
  await clock.advance(10_000);
  expect(databaseClock.now()).toBe(databaseNow());
});

test('it goes on while the database is away, and a slow answer does not move it', async () => {
  const { clock, databaseClock, databaseNow, answers } = await open();
  answers.isAway = true;
  await clock.advance(60_000);
  expect(databaseClock.now()).toBe(databaseNow());
  Object.assign(answers, { isAway: false, takeMs: 8_000 });
  await clock.advance(60_000);
  expect(databaseClock.now()).toBe(databaseNow());
});

test('it ends with its process', async () => {
  const { clock, databaseClock } = await open();
  await databaseClock.close();
  expect(clock.pendingTimers()).toBe(0);
});
