import { describe } from 'bun:test';
import { monthHistories } from '../../../../test/contracts/month-history.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

/** The leap day, a February without one, the turn of a year, and a month of 30 days. */
const STARTS = [
  '2028-02-28T23:59:57Z',
  '2027-02-28T23:59:57Z',
  '2029-12-31T23:59:57Z',
  '2031-04-30T12:00:00Z',
];

describe('months on PGlite', () => {
  const database = useMemoryDatabase();
  monthHistories('PGlite', () => database, STARTS);
});

describePostgres('months with a server', () => {
  const database = usePostgres();
  monthHistories('PostgreSQL', () => database, STARTS);
});
