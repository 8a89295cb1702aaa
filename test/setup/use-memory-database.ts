import { afterAll, beforeAll } from 'bun:test';
import type { Database } from '../../src/ports/database.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { deferDatabase } from './defer-database.ts';

export interface UseMemoryDatabase {
  /** Runs before the database is closed: Bun runs the hooks after all tests in the order of their registration. */
  readonly beforeClose?: () => unknown;
}

/** A migrated database in this process's memory, open from before the first test of this scope until after its last. */
export function useMemoryDatabase({ beforeClose }: UseMemoryDatabase = {}): Database {
  let opened: Database | undefined;
  // A bare `bun test` has a limit of five seconds, and the first of a run builds the cluster that others copy.
  beforeAll(async () => {
    opened = await openMemoryDatabase();
  }, 120_000);
  afterAll(async () => {
    await beforeClose?.();
    await opened?.close();
  });
  return deferDatabase('pglite', () => opened);
}
