import { beforeEach, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useMemoryDatabase } from '../../../test/setup/use-memory-database.ts';
import { createLogPruner } from './log-store.ts';

const NOW = Date.UTC(2030, 0, 1);
const database = useMemoryDatabase();
beforeEach(() => database.script('truncate log_entries'));

/** Rows numbered from 1, one a second, the last of them at NOW. */
async function rows(count: number): Promise<void> {
  await database.query(
    `insert into log_entries (timestamp, level, message, context)
     select $1::timestamptz - make_interval(secs => $2::integer - n), 'info', n::text, '{}'
     from generate_series(1, $2::integer) as series (n) order by series.n`,
    [new Date(NOW), count],
  );
}

async function kept(): Promise<number[]> {
  const found = await database.query<{ message: string }>('select message from log_entries order by id');
  return found.map((row) => Number(row.message));
}

test('entries past their age go, the others stay', async () => {
  await rows(50);
  await createLogPruner({ database, clock: createManualClock(NOW), keepRows: 1_000, keepMs: 10_000 })();
  expect(await kept()).toEqual([40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50]);
});

test('entries past the bound on rows go, the oldest first, in as many chunks as it takes', async () => {
  await rows(5_000);
  await createLogPruner({ database, clock: createManualClock(NOW), keepRows: 7, keepMs: 10 ** 9 })();
  expect(await kept()).toEqual([4_994, 4_995, 4_996, 4_997, 4_998, 4_999, 5_000]);
});

test('a bound of none keeps none', async () => {
  await rows(5);
  await createLogPruner({ database, clock: createManualClock(NOW), keepRows: 0, keepMs: 10 ** 9 })();
  expect(await kept()).toEqual([]);
});

test('it looks once a minute, and again at once while it is behind', async () => {
  const clock = createManualClock(NOW);
  const prune = createLogPruner({ database, clock, keepRows: 100, keepMs: 10 ** 9 });
  await rows(25_100);
  await prune();
  // Twenty chunks of a thousand in one go, so that nothing waits long behind it.
  expect(await kept()).toHaveLength(5_100);
  await prune();
  expect(await kept()).toHaveLength(100);
  await rows(10);
  await clock.advance(59_999);
  await prune();
  expect(await kept()).toHaveLength(110);
  await clock.advance(1);
  await prune();
  expect(await kept()).toHaveLength(100);
});
