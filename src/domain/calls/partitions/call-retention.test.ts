import { describe, expect, test } from 'bun:test';
import { retiredCallsContract } from '../../../../test/contracts/retired-calls.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import { openCallPartitions } from './call-partitions.ts';
import { retireCalls } from './call-retention.ts';

describe('on PGlite', () => {
  const database = useDatabase();

  retiredCallsContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const log = createSilentLog();
  const database = usePostgres();

  retiredCallsContract('PostgreSQL', () => database);

  test('G-33 calls are charged while partitions are created and removed: none fails, none is missed', async () => {
    const companyId = await addTestCompany(database);
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
  });
});
