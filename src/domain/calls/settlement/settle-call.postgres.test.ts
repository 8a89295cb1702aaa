import { expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { until } from '../../../../test/doubles/until.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemClock } from '../../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { entryOf } from './replay-journal.ts';
import { createCallBook } from './settle-call.ts';

describePostgres('G-33 the call book on PostgreSQL', () => {
  const { newId } = createSystemSecrets();
  const database = usePostgres();

  function openBook(journal = createMemoryJournal()) {
    const parts = { database, journal, clock: createSystemClock(), log: createSilentLog() };
    return { journal, book: createCallBook({ ...parts, commitDeadlineMs: 100 }) };
  }

  test('a try that hangs on a lock, its own replay and two take-overs at once charge each call once', async () => {
    const companyId = newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
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
