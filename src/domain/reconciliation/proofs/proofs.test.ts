import { describe } from 'bun:test';
import { auditProofsContract } from '../../../../test/contracts/audit-proofs.contract.ts';
import { testEngine } from '../../../../test/doubles/test-database.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

describe(`on ${testEngine()}`, () => {
  const database = useDatabase();
  auditProofsContract(testEngine(), () => database);
});

// Each proof runs in one transaction, so on the same engine a pool of several connections tests nothing more.
if (testEngine() === 'pglite') {
  describePostgres('with a server', () => {
    const database = usePostgres();
    auditProofsContract('postgres', () => database);
  });
}
