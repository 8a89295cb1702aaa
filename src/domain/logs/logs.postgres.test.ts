import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import type { LogEntry } from '../../ports/log.ts';
import { findEntries } from './log-queries.ts';
import { createKeptLog, createLogPruner } from './log-store.ts';

const NOW = Date.UTC(2030, 0, 1);

/** What the engines read differently, and what depends on locks. */
describePostgres('logs on PostgreSQL', () => {
  const database = usePostgres();

  test('entries are kept and found as they were taken', async () => {
    const clock = createManualClock(NOW);
    const onTrouble = ({ error }: { error: unknown }) => {
      throw error;
    };
    const kept = createKeptLog({ database, clock, keepRows: 10_000, keepMs: 10 ** 9, onTrouble });
    const entries: LogEntry[] = Array.from({ length: 600 }, (_, n) => ({
      timestamp: new Date(NOW + Math.floor(n / 7)).toISOString(),
      level: n % 3 === 0 ? 'warn' : 'info',
      message: `"${n}", {\\} 'é€😀' null`,
      context: { requestId: `r${n % 10}`, nested: [{ text: 'a"b\\c\n', n, none: null }] },
    }));
    for (const entry of entries) kept.take(entry);
    await kept.close();
    const first = await findEntries(database, { limit: 400 });
    if (first.outcome !== 'found' || first.nextCursor === null) throw new Error('one page is too few');
    const second = await findEntries(database, { limit: 400, after: first.nextCursor });
    if (second.outcome !== 'found') throw new Error(second.outcome);
    expect([...first.entries, ...second.entries]).toEqual(entries.toReversed());
    expect(
      await findEntries(database, { level: 'warn', requestId: 'r3', contains: '€😀', limit: 1 }),
    ).toEqual({
      outcome: 'found',
      entries: entries.filter((_, n) => n % 3 === 0 && n % 10 === 3).slice(-1),
      nextCursor: expect.any(String),
    });
  });

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
