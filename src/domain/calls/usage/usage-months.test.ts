import { expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { usageMonthsCheck } from '../../reconciliation/usage-checks.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import { addUpUsageMonths } from './usage-months.ts';
import { usageReport } from './usage-report.ts';

describePostgres('with a server', () => {
  const { newId } = createSystemSecrets();
  const log = createSilentLog();
  const database = usePostgres();

  test('calls are counted in the order of their days: two groups of late calls do not deadlock', async () => {
    await database.script(`
      create table counted_days (place serial, day date);
      create function note_counted_day() returns trigger language plpgsql as $$
        begin insert into counted_days (day) values (new.day); return null; end $$;
      create trigger note_counted_day after insert or update on usage_days for each row execute function note_counted_day()`);
    const companies = [newId(), newId()];
    for (const id of companies) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    const calls = [9, 2, 11, 0, 7, 4].flatMap((month) =>
      companies.map((id) =>
        finishedCall(id, {
          alias: `svc/chat-${month % 2 === 0 ? 'default' : 'cheap'}`,
          startedAtMs: Date.UTC(2019, month),
        }),
      ),
    );
    await chargeCalls(database, calls);
    const counted = await database.query<{ day: string }>(
      'select day::text as day from counted_days order by place',
    );
    await database.script('drop table counted_days; drop function note_counted_day cascade');
    const days = counted.map(({ day }) => day);
    expect(days).toEqual(days.toSorted());
    expect(new Set(days).size).toBe(6);
  });

  test('G-5 late calls during the summing: every report has every call that was committed before it', async () => {
    const companies = [newId(), newId()];
    for (const id of companies) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    const keyId = newId();
    const call = (companyId: string, n: number) => ({
      id: newId(),
      companyId,
      keyId,
      requestId: 'req_1',
      endpoint: 'chat/completions',
      alias: n % 2 === 0 ? 'svc/chat-default' : 'svc/chat-cheap',
      targetId: null,
      outcome: 'SUCCEEDED' as const,
      reason: null,
      httpStatus: 200,
      streamed: false,
      tokens: { promptTokens: 10, cachedTokens: 0, completionTokens: 1 },
      estimatedTokens: 1,
      startedAtMs: Date.UTC(2020, n % 3, 1 + (n % 28)),
      firstByteMs: 1,
      durationMs: 2,
      monthlyLimitMicro: null,
    });
    const committed = new Map(companies.map((id) => [id, 0n]));
    const counts = async (companyId: string): Promise<bigint[]> => {
      const question = { companyId, from: '2020-01-01', to: '2020-12-31' };
      const own = await usageReport(database, {
        ...question,
        keyId,
        by: [[], ['model'], ['day'], ['model', 'day']],
      });
      const byKey = await usageReport(database, { ...question, keyId: null, by: [['key']] });
      return [...own.groups, ...byKey.groups].map((groups) =>
        groups.reduce((sum, group) => sum + group.calls, 0n),
      );
    };
    const rounds = 16;
    let isCharging = true;
    const chargers = companies.map(async (companyId) => {
      for (let n = 0; n < rounds; n += 1) {
        await chargeCalls(database, [call(companyId, n), call(companyId, n + 1)]);
        committed.set(companyId, (committed.get(companyId) ?? 0n) + 2n);
      }
    });
    const adders = Array.from({ length: 3 }, async () => {
      while (isCharging) await addUpUsageMonths({ database, log, clock: createManualClock() });
    });
    const watchers = companies.map(async (companyId) => {
      while (isCharging) {
        const before = committed.get(companyId) ?? 0n;
        for (const count of await counts(companyId)) expect(count).toBeGreaterThanOrEqual(before);
      }
    });
    await Promise.all(chargers);
    isCharging = false;
    await Promise.all([...adders, ...watchers]);
    for (const companyId of companies)
      expect(await counts(companyId)).toEqual(Array(5).fill(2n * BigInt(rounds)));
    await addUpUsageMonths({ database, log, clock: createManualClock() });
    for (const companyId of companies)
      expect(await counts(companyId)).toEqual(Array(5).fill(2n * BigInt(rounds)));
    expect(await runCheck(database, usageMonthsCheck)).toEqual({ faults: [], isCut: false });
    const [done] = await database.query('select count(*) as months from usage_months_done');
    expect(done?.months).toBeGreaterThanOrEqual(6n);
  });
});
