import { expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-database.ts';
import { startVacuum } from './vacuum.ts';

const database = useMemoryDatabase();

test('the embedded database is vacuumed twice an hour, even after a failure, until it is closed', async () => {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  let isUnavailable = true;
  const script = (text: string) =>
    isUnavailable ? Promise.reject(new Error('away')) : database.script(text);
  const { close } = startVacuum({ database: { ...database, script }, clock, log });
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
});

test('a table that has outgrown its statistics is analyzed within a minute, and not again before it has doubled', async () => {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const analyzed: string[] = [];
  const transaction: typeof database.transaction = (work) =>
    database.transaction((inner) => {
      const query: typeof inner.query = (text, ...rest) => {
        if (text.startsWith('analyze')) analyzed.push(text);
        return inner.query(text, ...rest);
      };
      return work({ ...inner, query });
    });
  const { close } = startVacuum({ database: { ...database, transaction }, clock, log });
  const fill = (from: number) =>
    database.script(
      `insert into grown select n, 'one', repeat('x', 500) from generate_series(${from}, ${from + 3_999}) as n`,
    );
  const expectedRows = async () => {
    const [row] = await database.query<{ rows: number }>(
      `select reltuples::float8 as rows from pg_class where relname = 'grown'`,
    );
    return row?.rows;
  };
  await database.script('create table grown (n integer, company text, word text)');
  await fill(1);
  await clock.advance(60_000);
  await until(async () => (await expectedRows()) === 4_000);
  await database.script(`insert into grown values (0, 'one', 'short')`);
  await clock.advance(60_000);
  await until(() => clock.pendingTimers() === 2);
  await fill(5_000);
  await fill(9_000);
  await clock.advance(60_000);
  await until(async () => (await expectedRows()) === 12_001);
  expect(analyzed).toEqual(['analyze grown', 'analyze grown']);
  expect(entries).toEqual([]);
  close();
});
