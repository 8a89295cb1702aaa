import { beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import type { Database, SqlValue } from '../../ports/database.ts';
import { createLogPruner, createStoredLog, type LogTrouble } from './log-store.ts';

type Mode = 'up' | 'down' | 'refusing' | 'hanging' | 'not pruning';

const NOW = Date.UTC(2030, 0, 1);

/** A database that only counts what it is given, and that a test turns off and on. */
function given() {
  const clock = createManualClock(0);
  const batches: string[][] = [];
  const troubles: LogTrouble[] = [];
  let mode: Mode = 'up';
  let tries = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  const released = Promise.withResolvers<void>();

  async function query(text: string, values: readonly SqlValue[] = []): Promise<never[]> {
    const isInsert = text.startsWith('insert');
    if (mode === 'not pruning' && !isInsert) throw new Error('pruning failed');
    if (!isInsert) return [];
    tries += 1;
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    try {
      await Promise.resolve();
      if (mode === 'hanging') await released.promise;
      if (mode === 'down') throw Object.assign(new Error('gone'), { sqlState: null });
      if (mode === 'refusing') throw Object.assign(new Error('bad value'), { sqlState: '22P05' });
      batches.push(values[2] as string[]);
      return [];
    } finally {
      atOnce -= 1;
    }
  }

  const database = { query } as unknown as Database;
  const onTrouble = (trouble: LogTrouble) => void troubles.push(trouble);
  const kept = createStoredLog({ database, clock, keepRows: 100, keepMs: 1_000_000, onTrouble });
  return {
    kept,
    clock,
    batches,
    kinds: () => troubles.map((trouble) => trouble.kind),
    log(count: number, message = 'entry', context = {}) {
      for (let n = 1; n <= count; n += 1) {
        kept.take({
          timestamp: '2030-01-01T00:00:00.000Z',
          level: 'info',
          message: `${message} ${n}`,
          context,
        });
      }
    },
    become(next: Mode) {
      mode = next;
      if (next !== 'hanging') released.resolve();
    },
    tries: () => tries,
    mostAtOnce: () => mostAtOnce,
    written: () => batches.flat(),
  };
}

test('entries are collected for a second and written together', async () => {
  const { log, clock, batches } = given();
  log(3);
  await clock.advance(900);
  log(2, 'later');
  await clock.advance(99);
  expect(batches).toEqual([]);
  await clock.advance(1);
  expect(batches).toEqual([['entry 1', 'entry 2', 'entry 3', 'later 1', 'later 2']]);
  expect(clock.pendingTimers()).toBe(0);
});

test('500 entries are written at once, and no statement takes more', async () => {
  const { log, clock, batches } = given();
  log(1_200);
  expect(batches).toEqual([]);
  await clock.advance(0);
  expect(batches.map((batch) => batch.length)).toEqual([500, 500]);
  await clock.advance(1_000);
  expect(batches.map((batch) => batch.length)).toEqual([500, 500, 200]);
});

test('only one statement runs at a time, and later entries wait', async () => {
  const { log, clock, batches, become, mostAtOnce, kept } = given();
  become('hanging');
  log(600);
  await clock.advance(0);
  log(600, 'meanwhile');
  const flushing = Promise.all([kept.flush(), kept.flush()]);
  await clock.advance(5_000);
  expect(batches).toEqual([]);
  become('up');
  await flushing;
  expect(mostAtOnce()).toBe(1);
  expect(batches.flat()).toHaveLength(1_200);
});

test('an outage is logged once, entries are kept in order until it ends, and retries become rarer', async () => {
  const { log, clock, batches, become, kinds, tries } = given();
  become('down');
  log(2, 'first');
  await clock.advance(1_000);
  expect(kinds()).toEqual(['not-written']);
  log(2, 'second');
  await clock.advance(10 * 60_000);
  // After 1, 2, 4, 8 and 16 seconds, then every 30.
  expect(tries()).toBeGreaterThan(15);
  expect(tries()).toBeLessThan(30);
  expect(kinds()).toEqual(['not-written']);
  become('up');
  await clock.advance(30_000);
  expect(batches).toEqual([['first 1', 'first 2', 'second 1', 'second 2']]);
  become('down');
  log(1);
  await clock.advance(1_000);
  expect(kinds()).toEqual(['not-written', 'not-written']);
});

test('entries past the bound are dropped, counted, and reported when the database is back', async () => {
  const { log, clock, become, kept, written } = given();
  become('down');
  log(10_007);
  await clock.advance(1_000);
  log(5, 'late');
  expect(kept.droppedCount()).toBe(12);
  become('up');
  await clock.advance(120_000);
  expect(written()).toHaveLength(10_001);
  expect(written()[9_999]).toBe('entry 10000');
  expect(written().at(-1)).toBe('12 log entries were dropped: the database did not take them');
  log(1, 'after');
  await clock.advance(1_000);
  expect(written().at(-1)).toBe('after 1');
});

test('the waiting entries are bounded in size too', async () => {
  const { log, become, kept } = given();
  become('down');
  log(2_000, 'large', { text: 'x'.repeat(16_000) });
  expect(kept.droppedCount()).toBeGreaterThan(900);
  expect(kept.droppedCount()).toBeLessThan(1_010);
});

test('a batch rejected for its data is dropped and reported, and later batches continue', async () => {
  const { log, clock, become, kept, kinds, written } = given();
  become('refusing');
  log(3, 'poison');
  await clock.advance(1_000);
  expect(kept.droppedCount()).toBe(3);
  expect(kinds()).toEqual(['refused']);
  become('up');
  log(1, 'good');
  await clock.advance(1_000);
  expect(written()).toEqual(['3 log entries were dropped: the database did not take them', 'good 1']);
});

test('failed pruning is logged once and blocks nothing', async () => {
  const { log, clock, become, kinds, written } = given();
  become('not pruning');
  for (let minute = 0; minute < 3; minute += 1) {
    log(1);
    await clock.advance(60_000);
  }
  expect(written()).toHaveLength(3);
  expect(kinds()).toEqual(['not-pruned']);
});

test('close writes the waiting entries; later ones are dropped and no timer is left', async () => {
  const { log, kept, written, clock } = given();
  log(700);
  await kept.close();
  expect(written()).toHaveLength(700);
  expect(clock.pendingTimers()).toBe(0);
  log(1);
  await clock.advance(60_000);
  expect(written()).toHaveLength(700);
  expect(kept.droppedCount()).toBe(1);
  expect(clock.pendingTimers()).toBe(0);
});

test('close does not wait longer than a few seconds for a database that hangs', async () => {
  const { log, kept, become, clock } = given();
  become('hanging');
  log(1);
  let isClosed = false;
  const closing = kept.close().then(() => {
    isClosed = true;
  });
  await clock.advance(2_900);
  expect(isClosed).toBe(false);
  await clock.advance(100);
  await closing;
  expect(clock.pendingTimers()).toBe(0);
});

describe('old entries', () => {
  const database = useDatabase();
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

  test('entries past their age are deleted, the others stay', async () => {
    await rows(50);
    await createLogPruner({ database, clock: createManualClock(NOW), keepRows: 1_000, keepMs: 10_000 })();
    expect(await kept()).toEqual([40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50]);
  });

  test('the oldest past the bound on rows are deleted, once a minute, and again at once while it is behind', async () => {
    const clock = createManualClock(NOW);
    const prune = createLogPruner({ database, clock, keepRows: 100, keepMs: 10 ** 9 });
    await rows(25_100);
    await prune();
    // Twenty chunks of a thousand in one go, so that nothing waits long behind it.
    expect(await kept()).toHaveLength(5_100);
    await prune();
    expect((await kept())[0]).toBe(25_001);
    expect(await kept()).toHaveLength(100);
    await rows(10);
    await clock.advance(59_999);
    await prune();
    expect(await kept()).toHaveLength(110);
    await clock.advance(1);
    await prune();
    expect(await kept()).toHaveLength(100);
    await rows(10);
    clock.step(-3_600_000);
    await clock.advance(60_000);
    await prune();
    expect(await kept()).toHaveLength(100);
  });
});

/** What the engines read differently, and what depends on locks. */
describePostgres('logs on PostgreSQL', () => {
  const database = usePostgres();

  test('processes that prune at once delete no row too many and do not block each other', async () => {
    await database.script('truncate log_entries');
    await database.query(
      `insert into log_entries (timestamp, level, message, context)
       select $1::timestamptz, 'info', series.n::text, '{}'
       from generate_series(1, 15000) as series (n) order by series.n`,
      [new Date(NOW)],
    );
    const clock = createManualClock(NOW);
    const pruners = Array.from({ length: 5 }, () =>
      createLogPruner({ database, clock, keepRows: 100, keepMs: 10 ** 9 }),
    );
    await Promise.all(pruners.map((prune) => prune()));
    await createLogPruner({ database, clock, keepRows: 100, keepMs: 10 ** 9 })();
    const [row] = await database.query(
      'select count(*) as rows, min(message::integer) as first from log_entries',
    );
    expect(row).toEqual({ rows: 100n, first: 14_901 });
  });
});
