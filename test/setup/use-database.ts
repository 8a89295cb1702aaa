import { afterAll, beforeAll } from 'bun:test';
import type { Database } from '../../src/ports/database.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { TEST_MS } from '../doubles/patience.ts';
import { openTestDatabase, testEngine } from '../doubles/test-database.ts';
import { deferDatabase } from './defer-database.ts';

interface UseDatabase {
  /** Runs before the database is closed: Bun runs the hooks after all tests in the order of their registration. */
  readonly beforeClose?: () => unknown;
}

/** A migrated database of one connection, open from before the first test of this scope until after its last. */
export function useDatabase(options: UseDatabase = {}): Database {
  return useOpened(testEngine(), openTestDatabase, options);
}

/** The same in this process's memory, for what only the embedded engine does. */
export function useMemoryDatabase(options: UseDatabase = {}): Database {
  return useOpened('pglite', openMemoryDatabase, options);
}

function useOpened(
  engine: Database['engine'],
  open: () => Promise<Database>,
  { beforeClose }: UseDatabase,
): Database {
  let opened: Database | undefined;
  // A bare `bun test` has a limit of five seconds, and the first of a run builds the cluster that others copy.
  beforeAll(async () => {
    opened = await open();
  }, TEST_MS);
  afterAll(async () => {
    await beforeClose?.();
    await opened?.close();
  });
  return deferDatabase(engine, () => opened);
}
