import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createDeferredWrites } from '../../../adapters/database/pglite/deferred-writes.ts';
import { openWriteAheadLog, readLeftSegment } from '../../../adapters/journal/write-ahead-log.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { JournalEntry } from '../../../ports/call-journal.ts';
import type { Database, SqlValue } from '../../../ports/database.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { recoverDeferredCalls } from './deferred-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { listSetAside } from './set-aside-calls.ts';
import { createCallBook, type Settled } from './settle-call.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'turnpike-deferred-'));
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** A call book as on the embedded engine, with statements that a test can hold back or deny. */
async function given() {
  const companyId = await addTestCompany(database);
  const statements = steerStatements(database);
  const writes = createDeferredWrites(statements);
  const seen = {
    ...statements,
    async query<R>(text: string, values?: readonly SqlValue[]) {
      await writes.flush();
      return await statements.query<R>(text, values);
    },
  };
  const clock = createManualClock(0);
  const { log, entries } = createRecordingLog();
  const journal = createMemoryJournal();
  const folder = join(parent, companyId);
  const writeAheadLog = openWriteAheadLog({ folder, log });
  const parts = { database: seen as unknown as Database, journal, clock, log, commitDeadlineMs: 2_000 };
  const deferring = { writes, writeAheadLog };
  const book = createCallBook({ ...parts, deferring });
  const left = () => readLeftSegment({ folder, log });
  return {
    ...{ book, clock, journal, statements, entries, writeAheadLog },
    call: (changes: Partial<FinishedCall> = {}) => finishedCall(companyId, changes),
    /** As others see it. */
    balance: async () => (await readLevel(seen as unknown as Database, companyId))?.balanceMicro,
    /** As it is, whatever is deferred. */
    committed: async () => (await readLevel(database, companyId))?.balanceMicro,
    leftIds: () => left().entries.map(({ id }) => id),
    recover: (keep: (entries: readonly JournalEntry[]) => Promise<boolean> = async () => false) =>
      recoverDeferredCalls({ statements: database, left: left(), log, keep }),
  };
}

async function chargeOf(settled: Settled) {
  if (settled.outcome !== 'deferred') throw new Error(`not deferred but ${settled.outcome}`);
  return await settled.committed;
}

describe('G-33 a call on the embedded engine', () => {
  test('is in the write-ahead log when it ends, is charged before any read of the database, and is then removed from the log', async () => {
    const { book, call, balance, committed, leftIds, statements } = await given();
    const calls = [call(), call()];
    const settled = await Promise.all(calls.map((one) => book.settle(one)));
    expect(settled.map(({ outcome }) => outcome)).toEqual(['deferred', 'deferred']);
    expect(leftIds()).toEqual(calls.map(({ id }) => id));
    expect(statements.asked).toEqual([]);
    expect(await committed()).toBe(0n);
    expect(await balance()).toBe(-152n);
    expect(await chargeOf(settled[0] as Settled)).toMatchObject({ level: { balanceMicro: -152n } });
    expect(leftIds()).toEqual([]);
    await book.close();
  });

  test('is charged in a batch after a tenth of a second unless a read comes first, and at once when many are waiting', async () => {
    const { book, call, clock, committed, statements } = await given();
    const charged: unknown[] = [];
    const settle = async () => void chargeOf(await book.settle(call())).then((one) => charged.push(one));
    for (let n = 0; n < 20; n += 1) await settle();
    await clock.advance(99);
    expect(statements.asked).toHaveLength(0);
    await clock.advance(1);
    await until(() => charged.length === 20);
    expect(statements.asked).toHaveLength(1);
    for (let n = 0; n < 500; n += 1) await settle();
    await until(() => charged.length === 520);
    expect(statements.asked).toHaveLength(2);
    expect(await committed()).toBe(-76n * 520n);
    await book.close();
  });

  test('waits for its commit where its answer can be replayed, and where too many are deferred', async () => {
    const { book, call, statements, balance, leftIds } = await given();
    const ending = {
      idempotencyKey: 'k',
      sha256: 'ab'.repeat(32),
      contentType: 'application/json',
      sealedAnswer: null,
    };
    const settled = await book.settle(call({ keyId: newId(), idempotent: ending }));
    expect(settled).toMatchObject({ outcome: 'settled' });
    expect(leftIds()).toEqual([]);
    statements.hold();
    const outcomes: string[] = [];
    for (let n = 0; n < 1_500; n += 1) outcomes.push((await book.settle(call())).outcome);
    expect(new Set(outcomes)).toEqual(new Set(['deferred']));
    const beyond = book.settle(call());
    statements.release();
    expect((await beyond).outcome).toBe('settled');
    expect(await balance()).toBe(-76n * 1_502n);
    await book.close();
  });

  test('waits for its commit where the log cannot be written', async () => {
    const { book, call, committed, writeAheadLog } = await given();
    writeAheadLog.append = () => false;
    expect((await book.settle(call())).outcome).toBe('settled');
    expect(await committed()).toBe(-76n);
    await book.close();
  });

  test('is charged when the process stops', async () => {
    const { book, call, committed, leftIds } = await given();
    await book.settle(call());
    await book.close();
    expect(await committed()).toBe(-76n);
    expect(leftIds()).toEqual([]);
  });

  test('that the database rejects is set aside; the calls with it are charged', async () => {
    const { book, call, balance, journal, clock, leftIds } = await given();
    const refused = call({ companyId: newId() });
    for (const one of [call(), refused, call()]) expect((await book.settle(one)).outcome).toBe('deferred');
    expect(await balance()).toBe(-152n);
    expect(journal.ids()).toEqual([refused.id]);
    expect(leftIds()).toEqual([]);
    await until(async () => {
      await clock.advance(1_000);
      return journal.waiting() === 0;
    });
    const aside = await listSetAside(database, 100);
    expect(aside.map(({ id }) => id)).toContain(refused.id);
    await book.close();
  });

  test('is not retried where the database fails during the search for a bad row: all remaining calls go to the journal', async () => {
    const { book, call, clock, statements, journal, committed } = await given();
    const refused = call({ companyId: newId() });
    for (const one of [refused, ...Array.from({ length: 30 }, () => call())]) await book.settle(one);
    const { query } = statements;
    statements.query = (text, values) => {
      if (statements.asked.length > 0) statements.failWith('unavailable');
      return query(text, values);
    };
    await clock.advance(100);
    await until(() => journal.ids().length === 31);
    expect(statements.asked).toHaveLength(2);
    expect(await committed()).toBe(0n);
    await book.close();
  });

  test('goes to the journal where the database fails, as later ones do, and is charged once when it is back', async () => {
    const { book, call, clock, statements, journal, leftIds, committed } = await given();
    const first = call();
    const settled = await book.settle(first);
    statements.failWith('unavailable');
    await clock.advance(100);
    await until(() => journal.ids().length === 1);
    expect(leftIds()).toEqual([]);
    expect((await book.settle(call())).outcome).toBe('journaled');
    statements.failWith(null);
    await until(async () => {
      await clock.advance(1_000);
      return journal.waiting() === 0;
    });
    expect(await chargeOf(settled)).toMatchObject({ level: { accountId: first.companyId } });
    expect(await committed()).toBe(-152n);
    expect((await book.settle(call())).outcome).toBe('deferred');
    await book.close();
  });

  test('stays in the log where neither accepts it, and is charged once when one does', async () => {
    const { book, call, clock, statements, journal, leftIds, committed } = await given();
    const one = call();
    const settled = await book.settle(one);
    statements.failWith('unavailable');
    journal.failWith(new Error('no room'));
    await clock.advance(100);
    await until(() => statements.asked.length > 0);
    await clock.advance(5_000);
    expect(leftIds()).toEqual([one.id]);
    statements.failWith(null);
    journal.failWith(null);
    await until(async () => {
      await clock.advance(1_000);
      return leftIds().length === 0;
    });
    expect(await chargeOf(settled)).toMatchObject({ level: { balanceMicro: -76n } });
    expect(await committed()).toBe(-76n);
    await book.close();
  });
});

describe('G-33 calls deferred by a killed process', () => {
  test('are charged once by the next one, whether or not they were charged already', async () => {
    const { book, call, balance, leftIds, recover, statements, committed, entries } = await given();
    const calls = [call(), call(), call()];
    statements.hold();
    for (const one of calls) await book.settle(one);
    // Committed, and the process ends before it knows.
    void balance();
    await statements.held(1);
    await book.settle(call());
    expect(await committed()).toBe(-228n);
    expect(leftIds()).toHaveLength(4);
    await recover();
    expect(await committed()).toBe(-304n);
    expect(leftIds()).toEqual([]);
    expect(entries.map(({ message }) => message)).toContain(
      'calls that had ended before a process was killed are charged',
    );
    await recover();
    expect(await committed()).toBe(-304n);
  });

  test('that the database rejects, or this version cannot read, are kept; where that fails, the log stays complete', async () => {
    const { book, call, leftIds, recover, committed } = await given();
    const refused = call({ companyId: newId() });
    const unreadable = call({ outcome: 'LATER' as FinishedCall['outcome'] });
    for (const one of [refused, call(), unreadable]) await book.settle(one);
    await recover();
    expect(await committed()).toBe(-76n);
    expect(leftIds()).toHaveLength(3);
    const kept: string[] = [];
    await recover(async (entries) => {
      kept.push(...entries.map(({ id }) => id));
      return true;
    });
    expect(kept.sort()).toEqual([refused.id, unreadable.id].sort());
    expect(await committed()).toBe(-76n);
    expect(leftIds()).toEqual([]);
  });
});
