import { join } from 'node:path';
import { PGlite, type Transaction as PgliteTransaction, types } from '@electric-sql/pglite';
import { createDeferredWrites } from '../../src/adapters/database/pglite/deferred-writes.ts';
import type { Database, DatabaseFailure, Row, SqlValue, Statements } from '../../src/ports/database.ts';
import { oncePerRun } from '../services/once-per-run.ts';
import { migratedFolder } from './embedded-folder.ts';

const PARSERS = { [types.INT8]: (text: string) => BigInt(text) };

let template: Promise<Blob> | null = null;

/**
 * PostgreSQL in this process's memory, migrated and empty: for tests of rules and their SQL. It has one
 * connection and no time-outs. The first one takes seconds (give the hook a minute), the others load a copy.
 */
export async function openMemoryDatabase(): Promise<Database> {
  template ??= loadTemplate();
  return databaseOn(await PGlite.create({ loadDataDir: await template, parsers: PARSERS }));
}

function databaseOn(pglite: PGlite): Database {
  const statements = statementsOn(pglite);
  const deferred = createDeferredWrites(statements);
  async function written<T>(work: () => Promise<T>): Promise<T> {
    await deferred.flush();
    return await work();
  }
  return {
    engine: 'pglite',
    deferred,
    query: <R>(text: string, values?: readonly SqlValue[]) =>
      written(() => statements.query<R>(text, values)),
    script: (text) => written(() => statements.script(text)),
    transaction: (work) =>
      written(() =>
        pglite.transaction((transaction) => work({ isTransaction: true, ...statementsOn(transaction) })),
      ),
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

/** A new database reads and writes the whole copy, so what no test uses is left out of it: 28 MB instead of 43. */
const DROP_TEMPLATES = ['template1', 'template0'].map((name) => [
  `alter database ${name} is_template false`,
  `drop database ${name}`,
]);

async function loadTemplate(): Promise<Blob> {
  return Bun.file(
    await oncePerRun('memory-database.tar', async (path) => {
      const { folder, remove } = await migratedFolder();
      const pglite = await PGlite.create({ dataDir: join(folder, 'database') });
      for (const statement of DROP_TEMPLATES.flat()) await pglite.exec(statement);
      await Bun.write(path, await pglite.dumpDataDir('none'));
      await pglite.close();
      await remove();
    }),
  );
}
