import { describe, expect, test } from 'bun:test';
import { alertSettingsContract } from '../../../../test/contracts/alert-settings.contract.ts';
import { ledgerContract } from '../../../../test/contracts/ledger.contract.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { readLevel } from './credit-account.ts';
import { postTransaction } from './ledger.ts';

describe('on PGlite', () => {
  const database = useDatabase();

  ledgerContract('PGlite', () => database);
  alertSettingsContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const { newId } = createSystemSecrets();
  const database = usePostgres();

  ledgerContract('PostgreSQL', () => database);
  alertSettingsContract('PostgreSQL', () => database);

  async function companies(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, newId);
    for (const id of ids) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    return ids;
  }
  const post = (accountId: string, sourceId: string) =>
    database.transaction((transaction) =>
      postTransaction(transaction, {
        accountId,
        type: 'SUBSCRIPTION_GRANT',
        amountMicro: 10n,
        contra: 'grants',
        sourceKind: 'test',
        sourceId,
      }),
    );

  test('G-33 the same source fifty times at once is posted once', async () => {
    const [id = ''] = await companies(1);
    const sourceId = newId();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => post(id, sourceId)));
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'already-posted')).toHaveLength(49);
    expect(await readLevel(database, id)).toMatchObject({ balanceMicro: 10n, version: 1n });
  });

  test('G-33 one source on fifty accounts at once is posted on one of them', async () => {
    const ids = await companies(50);
    const sourceId = newId();
    const outcomes = await Promise.all(ids.map((id) => post(id, sourceId)));
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'already-posted')).toHaveLength(49);
    const balances = await Promise.all(ids.map(async (id) => (await readLevel(database, id))?.balanceMicro));
    expect(balances.filter((balance) => balance === 10n)).toHaveLength(1);
    expect(balances.filter((balance) => balance === 0n)).toHaveLength(49);
  });

  test('fifty concurrent sources on one account have consecutive versions', async () => {
    const [id = ''] = await companies(1);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => post(id, newId())));
    const versions = outcomes.map((posted) => (posted.outcome === 'posted' ? posted.transactionVersion : 0n));
    expect(versions.sort((a, b) => Number(a - b))).toEqual(
      Array.from({ length: 50 }, (_, at) => BigInt(at + 1)),
    );
    expect(await readLevel(database, id)).toMatchObject({ balanceMicro: 500n, version: 50n });
  });
});
