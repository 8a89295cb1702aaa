import { expect, test } from 'bun:test';
import { keysContract } from '../../../test/contracts/keys.contract.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../accounts/company.ts';
import { createLastUses } from './key-directory.ts';
import { findKey } from './key-lifecycle.ts';
import { mintKey } from './mint-key.ts';

describePostgres('with a server', () => {
  const database = usePostgres();

  keysContract('PostgreSQL', () => database);

  test('the use of a key that somebody else changes at this moment is left out, not waited for', async () => {
    const secrets = createSystemSecrets();
    const clock = createManualClock();
    const companyId = secrets.newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
    const mint = async () => {
      const minted = await mintKey({ database, secrets, clock }, { companyId, name: 'A', createdBy: null });
      if (minted.outcome !== 'minted') throw new Error(minted.outcome);
      return minted.key.id;
    };
    const [locked, free] = [await mint(), await mint()];
    const uses = createLastUses({ database, clock, log: createSilentLog() });
    await database.transaction(async (transaction) => {
      await transaction.query('update api_keys set name = $2 where id = $1', [locked, 'B']);
      for (const id of [locked, free]) uses.note(id);
      await uses.close();
    });
    expect((await findKey(database, companyId, free))?.lastUsedAt).toEqual(new Date(clock.now()));
    expect((await findKey(database, companyId, locked))?.lastUsedAt).toBeNull();
  });
});
