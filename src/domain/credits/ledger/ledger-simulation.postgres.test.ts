import { afterAll, beforeAll, describe } from 'bun:test';
import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { type FreshDatabase, freshDatabase } from '../../../../test/services/fresh-database.ts';
import { givenDatabase } from '../../../../test/services/given.ts';
import { migrate } from '../../../adapters/database/migrate.ts';
import { openPostgres } from '../../../adapters/database/postgres.ts';
import type { Database } from '../../../ports/database.ts';

describe.skipIf(givenDatabase() === null)('with a server', () => {
  let fresh: FreshDatabase;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshDatabase();
    const bounds = { poolSize: 10, maxWaiting: 1_000, connectTimeoutMs: 5_000, statementTimeoutMs: 20_000 };
    const names = { url: fresh.url, log: createSilentLog(), applicationName: 'turnpike-test' };
    database = await openPostgres({ ...bounds, ...names });
    await migrate(database);
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.drop();
  });

  booksSimulation('PostgreSQL', () => database, { seed: 34, steps: 3_000, atOnce: 6, timeoutMs: 300_000 });
});
