import { expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { openMemoryDatabase } from '../../../../test/doubles/memory-database.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { until } from '../../../../test/doubles/until.ts';
import { startVacuum } from './pglite.ts';

test('the embedded database is vacuumed twice an hour, even after a failure, until it is closed', async () => {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const database = await openMemoryDatabase();
  let isUnavailable = true;
  const script = (text: string) =>
    isUnavailable ? Promise.reject(new Error('away')) : database.script(text);
  const { close } = startVacuum({ database: { script }, clock, log });
  await clock.advance(30 * 60_000);
  expect(entries).toHaveLength(1);
  isUnavailable = false;
  await database.script(
    'create table worn (n integer); insert into worn select generate_series(1, 1000); delete from worn',
  );
  await clock.advance(30 * 60_000);
  const dead =
    "select n_dead_tup::integer as dead, last_vacuum is not null as vacuumed from pg_stat_user_tables where relname = 'worn'";
  await until(async () => (await database.query<{ vacuumed: boolean }>(dead))[0]?.vacuumed === true);
  close();
  expect(clock.pendingTimers()).toBe(0);
  await database.close();
});
