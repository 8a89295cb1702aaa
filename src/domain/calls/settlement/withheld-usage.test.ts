import { describe, expect, test } from 'bun:test';
import { withheldUsageContract } from '../../../../test/contracts/withheld-usage.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { addTestCompany, addTestUser } from '../../../../test/doubles/test-company.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { lockAccount } from '../../credits/ledger/ledger.ts';
import { openUserAccount } from '../../credits/ledger/user-account.ts';
import { chargeCalls } from './charge-calls.ts';
import { reportWithheldUsage, type UsageReportParts } from './report-withheld-usage.ts';
import { postWithheldUsage } from './withheld-usage.ts';

describe('on PGlite', () => {
  const database = useDatabase();
  withheldUsageContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();
  withheldUsageContract('PostgreSQL', () => database);

  test('that of a call that a user paid waits for charges of the company, whose sums it changes', async () => {
    const companyId = await addTestCompany(database);
    const userId = await addTestUser(database, companyId);
    await database.transaction((transaction) => openUserAccount(transaction, { userId, companyId }));
    const tokens = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 1 };
    const tokenBounds = { promptTokens: 10, completionTokens: 1 };
    const call = finishedCall(companyId, { payerId: userId, tokens, tokenBounds });
    await chargeCalls(database, [call]);
    const { first, posted } = await database.transaction(async (transaction) => {
      await lockAccount(transaction, companyId);
      const posted = database.transaction((own) =>
        postWithheldUsage(own, { callId: call.id, note: 'checked', now: new Date() }),
      );
      const isWaiting = async () => {
        const waiting = `select 1 from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query like '%credit_accounts%'`;
        return (await database.query(waiting)).length > 0;
      };
      const first = await Promise.race([until(isWaiting).then(() => 'it waits'), posted]);
      return { first, posted };
    });
    expect([first, (await posted).outcome]).toEqual(['it waits', 'resolved']);
  });
});

describe('the operators', () => {
  const database = useDatabase();
  const { newId } = createSystemSecrets();

  test('are mailed within a minute, then at most once an hour, each call once; and it is logged', async () => {
    const companyId = await addTestCompany(database);
    await database.query(
      `insert into users (id, company_id, email, password_hash, role, is_super_admin)
       values ($1, null, 'root@example.org', 'none', 'MEMBER', true)`,
      [newId()],
    );
    const clock = createManualClock();
    const { log, entries } = createRecordingLog();
    const mails: Parameters<UsageReportParts['mail']['send']>[0][] = [];
    const parts = {
      database,
      clock,
      log,
      mail: { send: async (mail: (typeof mails)[number]) => mails.push(mail) },
    };
    const withhold = async (count: number) => {
      const tokens = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 0 };
      const tokenBounds = { promptTokens: 100, completionTokens: 100 };
      const calls = Array.from({ length: count }, () => finishedCall(companyId, { tokens, tokenBounds }));
      await chargeCalls(database, calls);
    };
    expect(await reportWithheldUsage(parts)).toBe(0);
    await withhold(2);
    expect(await reportWithheldUsage(parts)).toBe(2);
    expect(mails).toMatchObject([
      {
        kind: 'withheld-usage',
        to: 'root@example.org',
        data: { calls: 2, creditsMicro: 1_800n, companies: ['Acme'], aliases: ['svc/chat-default'] },
      },
    ]);
    expect(entries.filter(({ level }) => level === 'error')).toHaveLength(1);
    await withhold(3);
    await clock.advance(59 * 60_000);
    expect(await reportWithheldUsage(parts)).toBe(0);
    await clock.advance(2 * 60_000);
    expect(await reportWithheldUsage(parts)).toBe(3);
    await clock.advance(120 * 60_000);
    expect(await reportWithheldUsage(parts)).toBe(0);
    expect(mails).toHaveLength(2);
  });
});
