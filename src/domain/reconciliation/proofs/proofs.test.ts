import { describe } from 'bun:test';
import { auditProofsContract } from '../../../../test/contracts/audit-proofs.contract.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

describe('on PGlite', () => {
  const database = useDatabase();
  auditProofsContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();
  auditProofsContract('PostgreSQL', () => database);
});
