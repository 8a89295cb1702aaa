import { describe, expect, test } from 'bun:test';
import { withheldUsageContract } from '../../../../test/contracts/withheld-usage.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { chargeCalls } from './charge-calls.ts';
import { reportWithheldUsage, type UsageReportParts } from './report-withheld-usage.ts';

describe('on PGlite', () => {
  const database = useDatabase();
  withheldUsageContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();
  withheldUsageContract('PostgreSQL', () => database);
});

describe('the operators', () => {
  const database = useDatabase();
  const { newId } = createSystemSecrets();

  test('are mailed within a minute, then at most once an hour, each call once; and it is logged', async () => {
    const companyId = newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
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
