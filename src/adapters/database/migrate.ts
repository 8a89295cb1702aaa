import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database, Transaction } from '../../ports/database.ts';
import { databaseFailure, isDatabaseFailure } from './failure.ts';
import {
  installFunctions,
  prepareFunctions,
  readFunctions,
  type StoredFunction,
} from './stored-functions.ts';

const FOLDER = fileURLToPath(new URL('../../../migrations', import.meta.url));
const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/;
/** The id of the advisory lock that migrating processes take. Arbitrary, but it must not change. */
const LOCK = 7_261_904;
const TIMEOUT_MS = 10 * 60_000;

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** The content of the folder migrations: the migrations in order, and the functions that are installed after them. */
interface Schema {
  readonly migrations: readonly Migration[];
  readonly functions: readonly StoredFunction[];
  /** The newest migration of the previous release: code of that release still runs on this schema. Null if none does. */
  readonly oldestCode?: number | null;
}

interface MigrateOptions {
  /** The database belongs to the next release, and this code can use it unchanged. */
  readonly onNewerSchema?: (newest: string) => void;
}

/**
 * Migrates the database to this code's version, forwards only, in one transaction under one lock: if ten processes start at
 * once, one migrates and nine find nothing to do, and a process killed in the middle leaves the old version intact. Returns
 * the names of the migrations it ran and of the functions it installed.
 *
 * A schema supports the code of its own release and of the previous one, so that a rolling upgrade can be rolled back. The
 * newest code records the supported versions in `schema_support`:
 *
 *   the database is at this code's newest migration, or before it   it is migrated
 *   it is newer and supports this code                              nothing is changed, no function is installed
 *   it is newer and does not, or does not say                       refused
 */
export async function migrate(
  database: Database,
  schema: Schema | null = null,
  { onNewerSchema }: MigrateOptions = {},
): Promise<string[]> {
  const { migrations: steps, functions, oldestCode = null } = schema ?? (await readSchema(FOLDER));
  const inCode = steps.at(-1)?.number ?? 0;
  return await database.transaction(
    async (transaction) => {
      await transaction.query('select pg_advisory_xact_lock($1)', [LOCK]);
      await transaction.script(`create table if not exists schema_migrations (
        number integer primary key, name text not null, applied_at timestamptz not null default now())`);
      await prepareFunctions(transaction);
      await transaction.script(`create table if not exists schema_support (
        only_row boolean primary key default true check (only_row), oldest_code integer not null)`);
      const done = await appliedSteps(transaction);
      const beyond = done.findLast(({ number }) => number > inCode);
      const missing = steps.filter((step) => !done.some(({ number }) => number === step.number));
      if (beyond !== undefined) {
        await refuseUnsupported(transaction, beyond, inCode, missing);
        onNewerSchema?.(beyond.name);
        return [];
      }
      for (const step of missing) await apply(transaction, step);
      await recordSupport(transaction, oldestCode ?? inCode);
      const newest = { inCode, inDatabase: inCode };
      const installed = await installFunctions(transaction, functions, newest);
      return [...missing.map((step) => step.name), ...installed];
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

export async function readSchema(folder: string): Promise<Schema> {
  const [migrations, functions, releases] = await Promise.all([
    readMigrations(folder),
    readFunctions(join(folder, 'functions')),
    readFile(join(folder, 'releases.json'), 'utf8'),
  ]);
  return { migrations, functions, oldestCode: oldestCodeOf(migrations, JSON.parse(releases)) };
}

/** An entry of migrations/releases.json: a release and its newest migration. */
interface Release {
  readonly release: string;
  readonly newest: string;
}

/** The newest migration of the last release before this code. Code with later migrations belongs to the next release. */
export function oldestCodeOf(
  migrations: readonly Pick<Migration, 'number' | 'name'>[],
  releases: readonly Release[],
): number | null {
  const inCode = migrations.at(-1)?.number ?? 0;
  const numbers = releases.map(({ release, newest }) => {
    const found = migrations.find(({ name }) => name === newest);
    if (found === undefined)
      throw new Error(`releases.json: ${release} names ${newest}, which does not exist`);
    return found.number;
  });
  return numbers.findLast((number) => number < inCode) ?? null;
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

type AppliedStep = Pick<Migration, 'number' | 'name'>;

async function appliedSteps(transaction: Transaction): Promise<readonly AppliedStep[]> {
  return await transaction.query<AppliedStep>('select number, name from schema_migrations order by number');
}

async function refuseUnsupported(
  transaction: Transaction,
  beyond: AppliedStep,
  inCode: number,
  missing: readonly AppliedStep[],
): Promise<void> {
  const [row] = await transaction.query<{ oldest: number }>(
    'select oldest_code as oldest from schema_support',
  );
  if (row !== undefined && row.oldest <= inCode && missing.length === 0) return;
  const reason =
    missing[0] === undefined
      ? `it supports code from number ${row?.oldest ?? beyond.number} on`
      : `it lacks ${missing[0].name}, which this code has`;
  throw databaseFailure(
    'refused',
    `the database is newer than this code: it has ${beyond.name}, this code ends at number ${inCode}, and ${reason}. ` +
      'Run the newer version or the release before it, or restore a backup from before the upgrade',
  );
}

/** Never lowered: a contracting migration cannot be undone. */
async function recordSupport(transaction: Transaction, oldestCode: number): Promise<void> {
  await transaction.query(
    `insert into schema_support (oldest_code) values ($1)
     on conflict (only_row) do update set oldest_code = greatest(schema_support.oldest_code, excluded.oldest_code)
       where schema_support.oldest_code < excluded.oldest_code`,
    [oldestCode],
  );
}

async function apply(transaction: Transaction, step: Migration): Promise<void> {
  try {
    await transaction.script(step.sql);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sqlState = isDatabaseFailure(error) ? error.sqlState : null;
    throw databaseFailure('refused', `migration ${step.name} failed: ${reason}`, { sqlState, cause: error });
  }
  const values = [step.number, step.name];
  await transaction.query('insert into schema_migrations (number, name) values ($1, $2)', values);
}
