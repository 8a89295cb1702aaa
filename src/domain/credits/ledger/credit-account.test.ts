import { expect, test } from 'bun:test';
import { postAt } from '../../../../test/doubles/posted-usage.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { creditsAsNumber, creditsOfMicro, setCompanyBilling, spendable } from './credit-account.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();

test('G-32 a change of the billing mode sets its credit line and version, and reports a line that is used up', async () => {
  const owner = await addTestCompany(database);
  await postAt(database, owner, -85n, '2030-01-05T00:00:00Z');
  const bill = (mode: 'PREPAID' | 'POSTPAID', limit: bigint | null) =>
    database.transaction((transaction) => setCompanyBilling(transaction, owner, mode, limit));
  expect(await bill('POSTPAID', 100n)).toMatchObject({
    outcome: 'changed',
    level: { lineMicro: 100n, version: 2n },
  });
  expect(await bill('POSTPAID', 100n)).toMatchObject({ outcome: 'unchanged', level: { version: 2n } });
  const alerts = 'select kind, threshold_percent from credit_alerts where company_id = $1 order by 2';
  expect(await database.query(alerts, [owner])).toEqual([{ kind: 'CREDIT_LINE', threshold_percent: 80 }]);
  expect(await bill('POSTPAID', null)).toMatchObject({
    outcome: 'changed',
    level: { lineMicro: null, version: 3n },
  });
  expect(await bill('PREPAID', 5n)).toMatchObject({
    outcome: 'changed',
    level: { lineMicro: 0n, version: 4n },
  });
  expect(await bill('POSTPAID', -1n)).toMatchObject({ outcome: 'wrong-limit' });
  const nowhere = await database.transaction((transaction) =>
    setCompanyBilling(transaction, newId(), 'PREPAID', null),
  );
  expect(nowhere).toEqual({ outcome: 'no-such-company' });
  const [company] = await database.query(
    'select billing_mode, credit_limit_micro from companies where id = $1',
    [owner],
  );
  expect(company).toEqual({ billing_mode: 'PREPAID', credit_limit_micro: null });
});

test('the spendable amount is balance and credit line, within the range of shared state', () => {
  const of = (balanceMicro: bigint, lineMicro: bigint | null) =>
    spendable({ accountId: '', version: 1n, balanceMicro, lineMicro });
  const most = Number.MAX_SAFE_INTEGER;
  expect([of(-5n, 15n), of(-5n, null), of(2n ** 62n, 2n ** 62n)]).toEqual([10, most, most]);
  expect([of(-5n, 0n), of(-(2n ** 62n), 0n)]).toEqual([-5, -most]);
});

test('an amount is the same decimal as text and as a JSON number', () => {
  const random = createSeededRandom(11);
  for (let n = 0; n < 20_000; n += 1) {
    const micro = BigInt(random.below(2 ** 32)) * BigInt(random.below(100)) * (n % 2 === 0 ? 1n : -1n);
    expect(decimal(creditsAsNumber(micro))).toBe(creditsOfMicro(micro));
  }
  expect(JSON.stringify(creditsAsNumber(4_963_714n))).toBe('4.963714');
});

/** Without the exponent of numbers below 0.000001, and without -0. */
function decimal(number: number): string {
  return number === 0
    ? '0'
    : String(number).includes('e')
      ? number.toFixed(6).replace(/0+$/, '')
      : String(number);
}
