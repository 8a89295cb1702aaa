import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

/** Several at once on a server, which the simulation of all processes (docs/simulation.md) cannot have. */
describePostgres('with a server', () => {
  const database = usePostgres();

  booksSimulation('PostgreSQL', () => database, { seed: 34, steps: 300, atOnce: 6, timeoutMs: 300_000 });
});
