import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { openMemoryDatabase } from '../../../test/doubles/memory-database.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { type Opening, vacuumEmbeddedDatabase } from './start-service.ts';

test('the embedded database is tidied twice an hour, whatever happened the time before, until it closes', async () => {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const database = await openMemoryDatabase();
  let isAway = true;
  const script = (text: string) => (isAway ? Promise.reject(new Error('away')) : database.script(text));
  const closings: (() => unknown)[] = [];
  const whenClosing: Opening['whenClosing'] = (_, close) => void closings.push(close);
  vacuumEmbeddedDatabase({ database: { ...database, script }, clock, log, whenClosing });
  await clock.advance(30 * 60_000);
  expect(entries).toHaveLength(1);
  isAway = false;
  await database.script(
    'create table worn (n integer); insert into worn select generate_series(1, 1000); delete from worn',
  );
  await clock.advance(30 * 60_000);
  const dead =
    "select n_dead_tup::integer as dead, last_vacuum is not null as tidied from pg_stat_user_tables where relname = 'worn'";
  await until(async () => (await database.query<{ tidied: boolean }>(dead))[0]?.tidied === true);
  for (const close of closings) close();
  expect(clock.pendingTimers()).toBe(0);
  await database.close();
});
