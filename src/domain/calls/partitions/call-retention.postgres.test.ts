import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { retiredCallsContract } from '../../../../test/contracts/retired-calls.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { type FreshDatabase, freshDatabase } from '../../../../test/services/fresh-database.ts';
import { givenDatabase } from '../../../../test/services/given.ts';
import { migrate } from '../../../adapters/database/migrate.ts';
import { openPostgres } from '../../../adapters/database/postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../../ports/database.ts';
import { addCompany } from '../../accounts/company.ts';
import { chargeCalls } from '../settlement/finished-call.ts';
import { openCallPartitions } from './call-partitions.ts';
import { retireCalls } from './call-retention.ts';

describe.skipIf(givenDatabase() === null)('with a server', () => {
  const log = createSilentLog();
  let fresh: FreshDatabase;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshDatabase();
    const bounds = { poolSize: 8, maxWaiting: 1_000, connectTimeoutMs: 5_000, statementTimeoutMs: 30_000 };
    database = await openPostgres({ ...bounds, url: fresh.url, log, applicationName: 'turnpike-test' });
    await migrate(database);
  }, 60_000);
  afterAll(async () => {
    await database?.close();
    await fresh?.drop();
  });

  retiredCallsContract('PostgreSQL', () => database);

  test('G-33 calls are charged while partitions are made and let go of: none fails, none is missed', async () => {
    const { newId } = createSystemSecrets();
    const companyId = newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
    let isCharging = true;
    const charging = Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let n = 0; n < 60; n += 1) await chargeCalls(database, [finishedCall(companyId)]);
      }),
    ).finally(() => {
      isCharging = false;
    });
    // Months of a far future, which come and go while the calls of today are charged.
    for (let month = 0; isCharging && month < 40; month += 1) {
      const clock = createManualClock(Date.UTC(2060, month));
      await openCallPartitions({ database, clock, log, span: 'month' });
    }
    await charging;
    const [row] = await database.query('select -balance_micro as spent from credit_accounts where id = $1', [
      companyId,
    ]);
    expect(row?.spent).toBe(240n * 76n);
    // All months before 2060, with those calls, at two places.
    const retiring = { database, clock: createManualClock(Date.UTC(2060, 3)), log, keepMonths: 1 };
    const gone = await Promise.all([retireCalls(retiring), retireCalls(retiring)]);
    expect(Math.max(...gone)).toBeGreaterThan(0);
    expect(await database.query('select 1 from calls where company_id = $1', [companyId])).toEqual([]);
  }, 60_000);
});
