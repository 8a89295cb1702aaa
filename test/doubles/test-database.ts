import { openPostgres } from '../../src/adapters/database/postgres.ts';
import type { Database, Statements } from '../../src/ports/database.ts';
import { migratedDatabase } from '../services/fresh-database.ts';
import { givenDatabase } from '../services/given.ts';
import { openMemoryDatabase } from './memory-database.ts';
import { createSilentLog } from './silent-log.ts';

const BOUNDS = { poolSize: 1, maxWaiting: 10_000, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };

/**
 * A migrated and empty database for tests of rules and their SQL, with one connection: on the given PostgreSQL, which takes a
 * third of the processor time, or in this process's memory where there is none. TEST_EMBEDDED=on takes the memory always.
 */
export async function openTestDatabase(): Promise<Database> {
  if (testEngine() === 'pglite') return await openMemoryDatabase();
  const fresh = await migratedDatabase();
  const names = { url: fresh.url, log: createSilentLog(), applicationName: 'turnpike-test' };
  const database = await openPostgres({ ...BOUNDS, ...names });
  return {
    ...database,
    ...withPlainRows(database),
    transaction: (work, options) =>
      database.transaction((transaction) => work({ ...transaction, ...withPlainRows(transaction) }), options),
    async close() {
      await database.close();
      await fresh.drop();
    },
  };
}

export function testEngine(): Database['engine'] {
  return process.env.TEST_EMBEDDED === 'on' || givenDatabase() === null ? 'pglite' : 'postgres';
}

/** The driver's arrays have properties of their own, by which `toMatchObject` tells them from others. */
function withPlainRows(statements: Statements): Statements {
  return {
    query: async <R>(text: string, values?: Parameters<Statements['query']>[1]) => [
      ...(await statements.query<R>(text, values)),
    ],
    script: async (text) => [...(await statements.script(text))],
  };
}
