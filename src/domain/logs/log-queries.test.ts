import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import type { LogEntry, LogLevel } from '../../ports/log.ts';
import { type EntryFilter, findEntries } from './log-queries.ts';
import { createStoredLog } from './log-store.ts';

const database = useDatabase();

const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms).toISOString();
const entry = (ms: number, level: LogLevel, message: string, context = {}): LogEntry => ({
  timestamp: at(ms),
  level,
  message,
  context,
});

async function keep(...entries: LogEntry[]): Promise<void> {
  await database.script('truncate log_entries');
  const onTrouble = ({ error }: { error: unknown }) => {
    throw error;
  };
  const clock = createManualClock(Date.UTC(2030, 0, 1));
  const kept = createStoredLog({ database, clock, keepRows: 10_000, keepMs: 1_000_000, onTrouble });
  for (const one of entries) kept.take(one);
  await kept.close();
}

async function found(filter: EntryFilter): Promise<string[]> {
  const result = await findEntries(database, filter);
  if (result.outcome !== 'found') throw new Error(result.outcome);
  return result.entries.map((one) => one.message);
}

test('entries are returned as they were logged, newest first', async () => {
  const context = { requestId: 'r1', error: { name: 'Error', stack: 'a\n"b"\\' }, list: [1, null, 'é€😀'] };
  const older = entry(0, 'error', 'older é€😀 "\\', context);
  const newer = entry(1, 'debug', 'newer');
  await keep(older, newer);
  expect(await findEntries(database, {})).toEqual({
    outcome: 'found',
    entries: [newer, older],
    nextCursor: null,
  });
});

describe('filters', () => {
  beforeAll(() =>
    keep(
      entry(0, 'debug', 'a'),
      entry(10, 'info', 'b 100%', { requestId: 'r1' }),
      entry(20, 'warn', 'c', { requestId: 'r2', Model: 'svc/Chat_default' }),
      entry(30, 'error', 'd', { requestId: 'r1' }),
      entry(40, 'error', 'e', { requestId: createSeededRandom(1).text(6_000) }),
    ),
  );

  test.each([
    ['all', {}, 'e d c b 100% a'],
    ['at least info', { level: 'info' }, 'e d c b 100%'],
    ['at least warn', { level: 'warn' }, 'e d c'],
    ['one request', { requestId: 'r1' }, 'd b 100%'],
    ['text in the message, its signs taken as they are', { contains: '0%' }, 'b 100%'],
    ['text in the context, in any case', { contains: 'CHAT_DEF' }, 'c'],
    ['the empty text', { contains: '' }, 'e d c b 100% a'],
    ['text that PostgreSQL would refuse', { contains: '\0\ud800' }, ''],
    ['from a time on', { from: new Date(at(20)) }, 'e d c'],
    ['until before a time', { to: new Date(at(20)) }, 'b 100% a'],
    ['all at once', { level: 'warn', requestId: 'r1', from: new Date(at(5)), contains: 'D' }, 'd'],
    ['at most', { limit: 2 }, 'e d'],
    ['at least one', { limit: 0 }, 'e'],
  ] as [string, EntryFilter, string][])('%s', async (_, filter, expected) => {
    expect((await found(filter)).join(' ')).toBe(expected);
  });
});

describe('pages', () => {
  test('follow each other without gaps or repeats, also within a millisecond and while entries arrive', async () => {
    const names = Array.from({ length: 25 }, (_, n) => `entry ${n}`);
    await keep(...names.map((name, n) => entry(Math.floor(n / 10), 'info', name)));
    // An index happens to give them in order; the page must not depend on it.
    await database.script('set enable_indexscan = off; set enable_indexonlyscan = off');
    const seen: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < 9; page += 1) {
      const result = await findEntries(database, { limit: 3, after });
      if (result.outcome !== 'found') throw new Error(result.outcome);
      seen.push(...result.entries.map((one) => one.message));
      await database.query(
        `insert into log_entries (timestamp, level, message, context) values ($1, 'info', 'new', '{}')`,
        [new Date(at(50 + page))],
      );
      if (result.nextCursor === null) break;
      after = result.nextCursor;
    }
    await database.script('reset enable_indexscan; reset enable_indexonlyscan');
    expect(seen).toEqual(names.toReversed());
  });

  test('hold at most 500 entries', async () => {
    await keep(...Array.from({ length: 600 }, (_, n) => entry(n, 'info', `${n}`)));
    expect(await found({ limit: 100_000 })).toHaveLength(500);
    expect(await found({})).toHaveLength(100);
  });

  test.each(['', 'x', '!', 'AAAA', btoa('1.x'), btoa('-1.5'), btoa('99999999999999999.1'), 'A'.repeat(80)])(
    'an invalid cursor is an outcome, not an exception: %s',
    async (after) => {
      expect(await findEntries(database, { after })).toEqual({ outcome: 'invalid-cursor' });
    },
  );
});
