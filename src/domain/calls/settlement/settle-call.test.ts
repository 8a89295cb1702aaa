import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemClock } from '../../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database, SqlValue } from '../../../ports/database.ts';
import { addCompany } from '../../accounts/company.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf } from './journal-record.ts';
import { createCallBook, type Settled } from './settle-call.ts';

const { newId } = createSystemSecrets();

async function journaledOf(settled: Settled) {
  if (settled.outcome !== 'journaled') throw new Error(`not journaled but ${settled.outcome}`);
  return await settled.committed;
}

function bookOn(used: Pick<Database, 'query'>, journal = createMemoryJournal(1_000)) {
  const clock = createManualClock(0);
  const { log, entries } = createRecordingLog();
  const parts = { database: used as Database, clock, log, journal };
  return { book: createCallBook({ ...parts, commitDeadlineMs: 2_000 }), clock, journal, entries };
}

describe('the call book', () => {
  const companyId = newId();
  const database = useDatabase();

  beforeAll(async () => {
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  });

  const call = (changes: Partial<FinishedCall> = {}) => finishedCall(companyId, changes);

  async function rowsOf(...calls: readonly FinishedCall[]): Promise<number> {
    const ids = calls.map(({ id }) => id);
    return (await database.query('select 1 from calls where id = any($1::uuid[])', [ids])).length;
  }

  test('G-33 a settled call is stored and charged completely before settle resolves', async () => {
    const { book } = bookOn(database);
    const one = call({ keyId: newId(), monthlyLimitMicro: 1_000n });
    const settled = await book.settle(one);
    expect(settled).toMatchObject({
      outcome: 'settled',
      level: { accountId: companyId, lineMicro: 0n },
      spending: { keyId: one.keyId, month: '2026-01-01', spentMicro: 76n },
    });
    const [row] = await database.query('select * from calls where id = $1', [one.id]);
    expect(row).toMatchObject({
      company_id: companyId,
      key_id: one.keyId,
      endpoint: 'chat/completions',
      alias: 'svc/chat-default',
      target_id: 'embedded',
      outcome: 'SUCCEEDED',
      http_status: 200,
      streamed: true,
      prompt_tokens: 10n,
      cached_tokens: 4n,
      completion_tokens: 17n,
      estimated_tokens: 1_010n,
      started_at: new Date(Date.UTC(2026, 0, 31, 12)),
      first_byte_ms: 12,
      duration_ms: 34,
      charge_micro: 76n,
    });
  });

  test('each call of a group gets the balance of its own company and the spending of its own key', async () => {
    const { book } = bookOn(database);
    const other = await addTestCompany(database);
    const withLimit = finishedCall(other, { keyId: newId(), monthlyLimitMicro: 1_000n });
    const free = finishedCall(other, { outcome: 'FAILED', tokens: null, keyId: newId() });
    const [first, second, third] = await Promise.all(
      [call(), withLimit, free].map((one) => book.settle(one)),
    );
    expect(first).toMatchObject({ level: { accountId: companyId }, spending: null });
    expect(second).toMatchObject({
      level: { accountId: other, balanceMicro: -76n },
      spending: { spentMicro: 76n },
    });
    expect(third).toMatchObject({ outcome: 'settled', level: { accountId: other }, spending: null });
  });

  test('G-33 the same call settled again, together or later, is one row and one charge', async () => {
    const { book } = bookOn(database);
    const one = call({ keyId: newId(), monthlyLimitMicro: 1_000n });
    const both = await Promise.all([book.settle(one), book.settle(one)]);
    expect(both[0]).toMatchObject({ outcome: 'settled', spending: { spentMicro: 76n } });
    expect(both[1]).toEqual(both[0]);
    expect(await book.settle(one)).toEqual({ outcome: 'settled', level: null, spending: null });
    expect(await rowsOf(one)).toBe(1);
    const charges = 'select 1 from credit_transactions where source_id = $1';
    expect(await database.query(charges, [one.id])).toHaveLength(1);
  });

  test('calls are collected during a commit and written together in the next', async () => {
    const statements: number[] = [];
    const gate = Promise.withResolvers<void>();
    const counting = {
      async query(_: string, values: readonly SqlValue[] = []) {
        // Behind what the calls have in common.
        const given: unknown = JSON.parse(String(values[0]).split('\n').at(-1) ?? '');
        statements.push(Array.isArray(given) ? given.length : 1);
        if (statements.length === 1) await gate.promise;
        return [];
      },
    };
    const { book } = bookOn(counting as unknown as Database);
    const all = Array.from({ length: 1_201 }, () => book.settle(call()));
    gate.resolve();
    await Promise.all(all);
    expect(statements).toEqual([500, 500, 201]);
    // One that is given twice goes once.
    const one = call();
    await Promise.all([book.settle(one), book.settle(one)]);
    expect(statements.at(-1)).toBe(1);
  });

  test('a bad row among 500 is found with about twenty statements, for calls and for notes', async () => {
    const statements = steerStatements(database);
    const { book } = bookOn(statements);
    const calls = Array.from({ length: 500 }, (_, at) =>
      call(at === 333 ? { estimatedTokens: 2 ** 70 } : {}),
    );
    const outcomes = await Promise.all(calls.map((one) => book.settle(one)));
    expect(outcomes.flatMap(({ outcome }, at) => (outcome === 'settled' ? [] : [at]))).toEqual([333]);
    expect(statements.asked.length).toBeLessThan(25);
    // Each of a key of its own: those of one key are counted together.
    const noted = calls.map((one) => ({ ...one, id: newId(), outcome: 'REFUSED' as const, keyId: newId() }));
    for (const one of noted) book.note(one);
    await book.close();
    expect([await rowsOf(...noted), book.droppedCount()]).toEqual([499, 1]);
    expect(statements.asked.length).toBeLessThan(50);
  });

  describe('notes of refusals and reads', () => {
    test('are written in the background, together, and at the latest on close', async () => {
      const { book, clock } = bookOn(database);
      const noted = [call({ outcome: 'REFUSED' }), call({ outcome: 'REFUSED' })];
      for (const one of noted) book.note(one);
      expect(await rowsOf(...noted)).toBe(0);
      await clock.advance(250);
      await book.close();
      expect(await rowsOf(...noted)).toBe(2);
      const last = call({ outcome: 'REFUSED' });
      book.note(last);
      await book.close();
      expect(await rowsOf(last)).toBe(1);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('past the bound are dropped and counted; the others wait until the database accepts them', async () => {
      const outage = { isOver: false };
      const query: Database['query'] = (text, values) =>
        outage.isOver ? database.query(text, values) : Promise.reject(new Error('away'));
      const { book, clock, entries } = bookOn({ ...database, query });
      const noted = Array.from({ length: 10_003 }, (_, at) =>
        call({ outcome: 'REFUSED', reason: `reason-${at}` }),
      );
      for (const one of noted) book.note(one);
      for (let turn = 0; turn < 10; turn += 1) await clock.advance(1_000);
      expect(book.droppedCount()).toBe(3);
      expect(entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
      outage.isOver = true;
      await clock.advance(1_000);
      await book.close();
      expect(await rowsOf(...noted)).toBe(10_000);
      expect(book.droppedCount()).toBe(3);
    });
  });
});

describe('the call book while the database is unavailable', () => {
  const database = useDatabase();

  async function given(maxEntries = 1_000) {
    const companyId = await addTestCompany(database);
    const statements = steerStatements(database);
    const opened = bookOn(statements, createMemoryJournal(maxEntries));
    return {
      ...opened,
      statements,
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
          await opened.clock.advance(1_000);
          return await holds();
        });
      },
    };
  }

  describe('G-33 a commit without a response', () => {
    test('goes to the journal at its deadline, and later calls do not wait for the deadline again', async () => {
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

    test('that took effect is charged once; the call gets the resulting balance', async () => {
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

    test('that took effect and failed afterwards is charged once: the replay is dropped by its id', async () => {
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
  });

  describe('G-33 a call that cannot be recorded', () => {
    test('ends as not written, and no more calls are admitted while the disk is not writable', async () => {
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

    test('whose commit was only late: the response decides', async () => {
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

    test('at the bound of the journal: as many as fit, and new calls are refused before that', async () => {
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

  test('G-33 calls that the journal holds when it opens are charged: those of a killed process are moved there', async () => {
    const { book, journal, call, balance } = await given();
    await book.close();
    await journal.append([entryOf(call())]);
    const next = bookOn(database, journal);
    await until(async () => {
      await next.clock.advance(1_000);
      return journal.waiting() === 0;
    });
    expect(await balance()).toBe(-76n);
    await next.book.close();
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

    test('leaves the journal to the next start where the database stays unavailable, and logs that', async () => {
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

    test('does not wait for ever for a database that does not respond', async () => {
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
});

describePostgres('G-33 the call book on PostgreSQL', () => {
  const database = usePostgres();

  function openBook(journal = createMemoryJournal()) {
    const parts = { database, journal, clock: createSystemClock(), log: createSilentLog() };
    return { journal, book: createCallBook({ ...parts, commitDeadlineMs: 100 }) };
  }

  test('a try blocked by a lock, its own replay and two take-overs at once charge each call once', async () => {
    const companyId = await addTestCompany(database);
    const calls = Array.from({ length: 20 }, () => finishedCall(companyId));
    const left = calls.map(entryOf);
    const locked = Promise.withResolvers<void>();
    const unlock = Promise.withResolvers<void>();
    const lock = database.transaction(async (transaction) => {
      await transaction.query('select 1 from credit_accounts where id = $1 for update', [companyId]);
      locked.resolve();
      await unlock.promise;
    });
    await locked.promise;

    const first = openBook();
    const settled = await Promise.all(calls.map((call) => first.book.settle(call)));
    expect(settled.every(({ outcome }) => outcome === 'journaled')).toBe(true);
    const others = [createMemoryJournal(), createMemoryJournal()].map((journal) => {
      journal.leaveBehind('left', left);
      return openBook(journal);
    });
    const hanging = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    // The first try, its replay a second later, and both take-overs.
    await until(async () => (await database.query(hanging)).length === 4);
    unlock.resolve();
    await lock;

    await until(() => first.journal.waiting() === 0);
    await Promise.all(settled.map((one) => (one.outcome === 'journaled' ? one.committed : null)));
    await Promise.all([first, ...others].map(({ book }) => book.close()));
    expect((await readLevel(database, companyId))?.balanceMicro).toBe(-76n * 20n);
    expect(await database.query('select 1 from calls where company_id = $1', [companyId])).toHaveLength(20);
  });
});
