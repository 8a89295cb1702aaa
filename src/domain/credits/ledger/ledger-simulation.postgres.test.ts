import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

describePostgres('with a server', () => {
  const database = usePostgres();

  booksSimulation('PostgreSQL', () => database, { seed: 34, steps: 3_000, atOnce: 6, timeoutMs: 300_000 });
});
