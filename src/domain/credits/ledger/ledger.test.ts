import { describe, expect, test } from 'bun:test';
import { alertSettingsContract } from '../../../../test/contracts/alert-settings.contract.ts';
import { ledgerContract } from '../../../../test/contracts/ledger.contract.ts';
import { addTestCompany, postTo } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { readLevel } from './credit-account.ts';

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

  const post = (accountId: string, sourceId: string) => postTo(database, accountId, 10n, { sourceId });

  test('G-33 one source on fifty accounts at once is posted on one of them', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => addTestCompany(database)));
    const sourceId = newId();
    const outcomes = await Promise.all(ids.map((id) => post(id, sourceId)));
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'already-posted')).toHaveLength(49);
    const balances = await Promise.all(ids.map(async (id) => (await readLevel(database, id))?.balanceMicro));
    expect(balances.filter((balance) => balance === 10n)).toHaveLength(1);
    expect(balances.filter((balance) => balance === 0n)).toHaveLength(49);
  });

  test('fifty concurrent sources on one account have consecutive versions', async () => {
    const id = await addTestCompany(database);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => post(id, newId())));
    const versions = outcomes.map((posted) => (posted.outcome === 'posted' ? posted.transactionVersion : 0n));
    expect(versions.sort((a, b) => Number(a - b))).toEqual(
      Array.from({ length: 50 }, (_, at) => BigInt(at + 1)),
    );
    expect(await readLevel(database, id)).toMatchObject({ balanceMicro: 500n, version: 50n });
  });
});
