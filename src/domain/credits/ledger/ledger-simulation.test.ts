import { describe } from 'bun:test';
import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';

describe('on PGlite', () => {
  const database = useMemoryDatabase();

  booksSimulation('PGlite', () => database, { seed: 33, steps: 1_000, atOnce: 1, timeoutMs: 300_000 });
});

describePostgres('with a server', () => {
  const database = usePostgres();

  booksSimulation('PostgreSQL', () => database, { seed: 34, steps: 3_000, atOnce: 6, timeoutMs: 300_000 });
});
