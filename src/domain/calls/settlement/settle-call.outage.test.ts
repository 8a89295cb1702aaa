import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../../ports/database.ts';
import { addCompany } from '../../accounts/company.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf } from './replay-journal.ts';
import { createCallBook, type Settled } from './settle-call.ts';

const { newId } = createSystemSecrets();
const database = useMemoryDatabase();

async function given(maxEntries = 1_000) {
  const companyId = newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const statements = steerStatements(database);
  const clock = createManualClock(0);
  const { log, entries } = createRecordingLog();
  const journal = createMemoryJournal(maxEntries);
  const parts = { database: statements as unknown as Database, journal, clock, log };
  const book = createCallBook({ ...parts, commitDeadlineMs: 2_000 });
  return {
    ...{ book, clock, journal, statements, entries },
    call: (changes: Partial<FinishedCall> = {}) => finishedCall(companyId, changes),
    balance: async () => (await readLevel(database, companyId))?.balanceMicro,
    async rows() {
      const found = await database.query<{ id: string }>('select id from calls where company_id = $1', [
        companyId,
      ]);
      return found.map(({ id }) => id).sort();
    },
    /** Looks are a second apart; what they set off runs on the engine's own time. */
    async lookUntil(holds: () => boolean | Promise<boolean>) {
      await until(async () => {
        await clock.advance(1_000);
        return await holds();
      });
    },
  };
}

async function journaledOf(settled: Settled) {
  if (settled.outcome !== 'journaled') throw new Error(`not journaled but ${settled.outcome}`);
  return await settled.committed;
}

describe('G-33 a commit without an answer', () => {
  test('goes to the journal at its deadline, and nobody waits the deadline out again', async () => {
    const { book, clock, journal, statements, call, entries } = await given();
    statements.hold();
    const first = call();
    const settling = book.settle(first);
    await statements.held(1);
    const gathered = call();
    const second = book.settle(gathered);
    let isSettled = false;
    void settling.then(() => {
      isSettled = true;
    });
    await clock.advance(1_999);
    expect(isSettled).toBe(false);
    await clock.advance(1);
    expect(await settling).toMatchObject({ outcome: 'journaled' });
    expect(await second).toMatchObject({ outcome: 'journaled' });
    // No time passes for this one, and the database is not asked.
    const asked = statements.asked.length;
    const third = call();
    expect(await book.settle(third)).toMatchObject({ outcome: 'journaled' });
    expect(statements.asked.length).toBe(asked);
    expect(journal.ids()).toEqual([first.id, gathered.id, third.id]);
    expect(entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
    statements.release();
    await book.close();
  });

  test('that had landed is charged once; the call learns the level it left', async () => {
    const { book, clock, journal, statements, call, balance, rows, lookUntil } = await given();
    statements.hold();
    const one = call();
    const settling = book.settle(one);
    await statements.held(1);
    await clock.advance(2_000);
    const settled = await settling;
    statements.release();
    await lookUntil(() => journal.waiting() === 0);
    expect(await journaledOf(settled)).toMatchObject({ level: { balanceMicro: -76n } });
    expect(await rows()).toEqual([one.id]);
    expect(await balance()).toBe(-76n);
    // The database is back: the next goes straight to it.
    expect(await book.settle(call())).toMatchObject({ outcome: 'settled', level: { balanceMicro: -152n } });
    await book.close();
  });

  test('that had not landed is charged once by the replay', async () => {
    const { book, journal, statements, call, balance, lookUntil, entries } = await given();
    statements.failWith('unavailable');
    const settled = await book.settle(call());
    expect(await balance()).toBe(0n);
    statements.failWith(null);
    await lookUntil(() => journal.waiting() === 0);
    expect(await journaledOf(settled)).toMatchObject({ level: { balanceMicro: -76n } });
    expect(await balance()).toBe(-76n);
    expect(entries.map(({ message }) => message)).toContain('the database is back: calls are charged again');
    await book.close();
  });

  test('that had landed and failed afterwards is charged once: the replay is dropped by its id', async () => {
    const { book, journal, statements, call, balance, lookUntil } = await given();
    statements.hold();
    const settling = book.settle(call());
    await statements.held(1);
    statements.failWith('unavailable');
    statements.release();
    const settled = await settling;
    statements.failWith(null);
    await lookUntil(() => journal.waiting() === 0);
    expect(await journaledOf(settled)).toEqual({ level: null, spending: null });
    expect(await balance()).toBe(-76n);
    await book.close();
  });

  test('a replay and a late answer at the same time charge it once', async () => {
    const { book, clock, journal, statements, call, balance, rows, lookUntil } = await given();
    statements.hold();
    const calls = Array.from({ length: 20 }, () => call());
    const settling = calls.map((one) => book.settle(one));
    await statements.held(1);
    await clock.advance(2_000);
    const settled = await Promise.all(settling);
    // The look's own statement is held too, then everything arrives at once.
    await clock.advance(1_000);
    await statements.held(2);
    statements.release();
    await lookUntil(() => journal.waiting() === 0);
    await Promise.all(settled.map(journaledOf));
    expect(await rows()).toEqual(calls.map(({ id }) => id).sort());
    expect(await balance()).toBe(-76n * 20n);
    await book.close();
  });
});

describe('G-33 a call that can be written nowhere', () => {
  test('ends as not written, and nothing more is admitted while the disk takes nothing', async () => {
    const { book, clock, journal, statements, call, balance, lookUntil } = await given();
    statements.failWith('unavailable');
    journal.failWith(new Error('disk full'));
    expect(book.hasRoom()).toBe(true);
    expect(await book.settle(call())).toMatchObject({ outcome: 'not-written' });
    expect(book.hasRoom()).toBe(false);
    await clock.advance(1_000);
    expect(book.hasRoom()).toBe(false);
    journal.failWith(null);
    await lookUntil(() => book.hasRoom());
    expect(await book.settle(call())).toMatchObject({ outcome: 'journaled' });
    statements.failWith(null);
    await lookUntil(() => journal.waiting() === 0);
    expect(await balance()).toBe(-76n);
    await book.close();
  });

  test('but was only not answered in time: the answer decides', async () => {
    const { book, clock, journal, statements, call, balance } = await given();
    journal.failWith(new Error('disk full'));
    statements.hold();
    const settling = book.settle(call());
    await statements.held(1);
    await clock.advance(2_000);
    statements.release();
    expect(await settling).toMatchObject({ outcome: 'settled', level: { balanceMicro: -76n } });
    expect(await balance()).toBe(-76n);
    await book.close();
  });

  test('at the bound of the journal: as many as there is room for, and new calls are turned away before', async () => {
    const { book, statements, journal, call, balance, lookUntil } = await given(20);
    statements.failWith('unavailable');
    for (let n = 0; n < 17; n += 1) await book.settle(call());
    expect(book.hasRoom()).toBe(true);
    await book.settle(call());
    expect(book.hasRoom()).toBe(false);
    const last = await Promise.all(Array.from({ length: 5 }, () => book.settle(call())));
    expect(last.filter(({ outcome }) => outcome === 'journaled')).toHaveLength(2);
    expect(last.filter(({ outcome }) => outcome === 'not-written')).toHaveLength(3);
    statements.failWith(null);
    await lookUntil(() => journal.waiting() === 0);
    expect(await balance()).toBe(-76n * 20n);
    expect(book.hasRoom()).toBe(true);
    await book.close();
  });
});

describe('G-33 closing', () => {
  test('tries the database once more', async () => {
    const { book, clock, journal, statements, call, balance } = await given();
    statements.failWith('unavailable');
    await book.settle(call());
    statements.failWith(null);
    await book.close();
    expect(journal.waiting()).toBe(0);
    expect(await balance()).toBe(-76n);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('leaves the journal to the next start where the database stays away, and says so', async () => {
    const { book, clock, journal, statements, call, balance, entries } = await given();
    statements.failWith('unavailable');
    const one = call();
    await book.settle(one);
    await book.close();
    expect(journal.ids()).toEqual([one.id]);
    expect(entries.at(-1)).toMatchObject({ level: 'warn', context: { count: 1, file: 'own' } });
    expect(clock.pendingTimers()).toBe(0);

    const next = await given();
    next.journal.leaveBehind('left', [entryOf(one)]);
    await next.clock.advance(30_000);
    await until(async () => (await balance()) === -76n);
    await next.book.close();
  });

  test('does not wait for ever for a database that answers nothing', async () => {
    const { book, clock, journal, statements, call } = await given();
    statements.hold();
    const settling = book.settle(call());
    await statements.held(1);
    await clock.advance(2_000);
    await settling;
    const closing = book.close();
    await clock.advance(10_000);
    await closing;
    expect(journal.waiting()).toBe(1);
    statements.release();
  });
});
