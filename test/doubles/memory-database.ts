import { join } from 'node:path';
import { PGlite, type Transaction as PgliteTransaction, types } from '@electric-sql/pglite';
import { migrate } from '../../src/adapters/database/migrate.ts';
import type { Database, DatabaseFailure, Row, SqlValue, Statements } from '../../src/ports/database.ts';
import { embeddedFolder } from './embedded-folder.ts';

const PARSERS = { [types.INT8]: (text: string) => BigInt(text) };

let template: Promise<Blob> | null = null;

/**
 * PostgreSQL in this process's memory, migrated and empty: for tests of rules and their SQL. It has one
 * connection and no time-outs. The first one takes seconds (give the hook a minute), the others load a copy.
 */
export async function openMemoryDatabase(): Promise<Database> {
  template ??= buildTemplate();
  return databaseOn(await PGlite.create({ loadDataDir: await template, parsers: PARSERS }));
}

function databaseOn(pglite: PGlite): Database {
  return {
    engine: 'pglite',
    ...statementsOn(pglite),
    transaction: (work) =>
      pglite.transaction((transaction) => work({ isTransaction: true, ...statementsOn(transaction) })),
    async listen(channel, onMessage, onReconnect) {
      const close = await pglite.listen(channel, onMessage);
      onReconnect();
      return { close: () => close() };
    },
    pool: () => ({ size: 1, busy: 0, waiting: 0 }),
    close: () => pglite.close(),
  };
}

function statementsOn(runner: PGlite | PgliteTransaction): Statements {
  return {
    query: <R>(text: string, values: readonly SqlValue[] = []) =>
      runner.query<R>(text, [...values]).then((result) => result.rows, refuse),
    script: (text) =>
      runner.exec(text).then((results) => results.flatMap((result) => result.rows as Row[]), refuse),
  };
}

function refuse(error: unknown): never {
  const { message, code, constraint } = error as { message: string; code?: string; constraint?: string };
  const fields = { reason: 'refused', sqlState: code ?? null, constraint: constraint ?? null } as const;
  const failure: DatabaseFailure = Object.assign(new Error(message, { cause: error }), {
    name: 'DatabaseFailure' as const,
    ...fields,
  });
  throw failure;
}

async function buildTemplate(): Promise<Blob> {
  const { folder, remove } = await embeddedFolder();
  try {
    const pglite = await PGlite.create({ dataDir: join(folder, 'database') });
    await migrate(databaseOn(pglite));
    const copy = await pglite.dumpDataDir('none');
    await pglite.close();
    return copy;
  } finally {
    await remove();
  }
}
