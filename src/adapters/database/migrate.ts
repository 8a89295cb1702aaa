import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database, Transaction } from '../../ports/database.ts';
import { databaseFailure } from './failure.ts';
import {
  installFunctions,
  prepareFunctions,
  readFunctions,
  type StoredFunction,
} from './stored-functions.ts';

const FOLDER = fileURLToPath(new URL('../../../migrations', import.meta.url));
const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/;
/** Any number will do, as long as it stays the same: it names the one lock that migrating processes wait for. */
const LOCK = 7_261_904;
const TIMEOUT_MS = 10 * 60_000;

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** What the folder migrations holds: the steps in order, and the functions that are installed after them. */
export interface Schema {
  readonly migrations: readonly Migration[];
  readonly functions: readonly StoredFunction[];
}

/**
 * Brings the database to this code's version, forwards only, all steps in one transaction under one lock: of
 * ten processes that start at once, one migrates and nine find the work done, and a process killed in the
 * middle leaves the old version whole. Returns the names of the steps it took and of the functions it installed.
 */
export async function migrate(database: Database, schema: Schema | null = null): Promise<string[]> {
  const { migrations: steps, functions } = schema ?? (await readSchema(FOLDER));
  return await database.transaction(
    async (transaction) => {
      await transaction.query('select pg_advisory_xact_lock($1)', [LOCK]);
      await transaction.script(`create table if not exists schema_migrations (
        number integer primary key, name text not null, applied_at timestamptz not null default now())`);
      await prepareFunctions(transaction);
      const done = await appliedNumbers(transaction, steps);
      const missing = steps.filter((step) => !done.has(step.number));
      for (const step of missing) await apply(transaction, step);
      const inCode = steps.at(-1)?.number ?? 0;
      const newest = { inCode, inDatabase: Math.max(inCode, ...done) };
      const installed = await installFunctions(transaction, functions, newest);
      return [...missing.map((step) => step.name), ...installed];
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

export async function readSchema(folder: string): Promise<Schema> {
  const [migrations, functions] = await Promise.all([
    readMigrations(folder),
    readFunctions(join(folder, 'functions')),
  ]);
  return { migrations, functions };
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return await Promise.all(
    names.map(async (file) => {
      const match = FILE_NAME.exec(file);
      if (match === null) throw new Error(`${file} is not named like 0001_words.sql`);
      const sql = await readFile(join(folder, file), 'utf8');
      return { number: Number(match[1]), name: file.replace('.sql', ''), sql };
    }),
  );
}

async function appliedNumbers(
  transaction: Transaction,
  steps: readonly Migration[],
): Promise<ReadonlySet<number>> {
  const rows = await transaction.query<{ number: number; name: string }>(
    'select number, name from schema_migrations order by number',
  );
  const newest = steps.at(-1)?.number ?? 0;
  const beyond = rows.find((row) => row.number > newest);
  if (beyond !== undefined) {
    throw databaseFailure(
      'refused',
      `the database is newer than this code: it has ${beyond.name}, this code ends at number ${newest}. ` +
        'Run the newer version, or restore a backup from before it',
    );
  }
  return new Set(rows.map((row) => row.number));
}

async function apply(transaction: Transaction, step: Migration): Promise<void> {
  try {
    await transaction.script(step.sql);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw databaseFailure('refused', `migration ${step.name} failed: ${reason}`, { cause: error });
  }
  const values = [step.number, step.name];
  await transaction.query('insert into schema_migrations (number, name) values ($1, $2)', values);
}
