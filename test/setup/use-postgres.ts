import { afterAll, beforeAll, describe } from 'bun:test';
import { openPostgres, type PostgresOptions } from '../../src/adapters/database/postgres.ts';
import type { Database } from '../../src/ports/database.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { type FreshDatabase, migratedDatabase } from '../services/fresh-database.ts';
import { givenDatabase } from '../services/given.ts';
import { deferDatabase } from './defer-database.ts';

/** `describe`, skipped where there is no PostgreSQL. With CI set, that fails instead. */
export const describePostgres = describe.skipIf(givenDatabase() === null);

interface UsePostgres extends Partial<Omit<PostgresOptions, 'url'>> {
  /** Runs before the database is closed: Bun runs the hooks after all tests in the order of their registration. */
  readonly beforeClose?: () => unknown;
}

interface PostgresUnderTest extends Database {
  url(): string;
}

/**
 * A migrated database on PostgreSQL, this file's own, open from before the first test of the surrounding
 * `describePostgres` until after its last one.
 */
export function usePostgres({ beforeClose, ...options }: UsePostgres = {}): PostgresUnderTest {
  let fresh: FreshDatabase | undefined;
  let opened: Database | undefined;
  beforeAll(async () => {
    fresh = await migratedDatabase();
    const bounds = { poolSize: 12, maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };
    const names = { url: fresh.url, log: createSilentLog(), applicationName: 'turnpike-test' };
    opened = await openPostgres({ ...bounds, ...names, ...options });
  });
  afterAll(async () => {
    await beforeClose?.();
    await opened?.close();
    await fresh?.drop();
  });
  return {
    ...deferDatabase('postgres', () => opened),
    url: () => fresh?.url ?? '',
  };
}
