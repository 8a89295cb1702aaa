import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transaction } from '../../ports/database.ts';
import { databaseFailure } from './failure.ts';

const FILE_NAME = /^([a-z][a-z0-9_]*)\.sql$/;
const FIRST_LINE = /^-- revision: ([1-9]\d{0,8})\n/;
/** Comments above the statement are not part of the definition and may change at any time. */
const LEADING_COMMENTS = /^(?:--[^\n]*\n|[ \t]*\n)*/;

/** A file of migrations/functions. */
export interface StoredFunction {
  readonly name: string;
  /** Increased with every change of the definition: the higher revision is newer. */
  readonly revision: number;
  readonly sql: string;
}

interface NewestMigrations {
  readonly inCode: number;
  readonly inDatabase: number;
}

export async function readFunctions(folder: string): Promise<StoredFunction[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return await Promise.all(
    files.map(async (file) => parseFunction(file, await readFile(join(folder, file), 'utf8'))),
  );
}

export function parseFunction(file: string, text: string): StoredFunction {
  const name = FILE_NAME.exec(file)?.[1];
  if (name === undefined) throw new Error(`functions/${file} must be named after its function: name.sql`);
  const revision = FIRST_LINE.exec(text)?.[1];
  if (revision === undefined)
    throw new Error(`functions/${file} must start with a line like "-- revision: 1"`);
  return { name, revision: Number(revision), sql: text.replace(LEADING_COMMENTS, '') };
}

/** Created before the migrations run, so that a migration that drops a function can delete its row. */
export async function prepareFunctions(transaction: Transaction): Promise<void> {
  await transaction.script(`create table if not exists stored_functions (
    name text primary key, revision integer not null, checksum text not null,
    applied_at timestamptz not null default now())`);
}

/**
 * Installs the functions whose revision is higher than the database's, and returns their names. The caller holds the
 * migration lock and has run the migrations. A process never replaces a newer function with an older one:
 *
 *   the database has a newer migration than this code   nothing is installed
 *   stored revision is lower, or there is none          installed
 *   stored revision is equal, same definition           nothing to do
 *   stored revision is equal, another definition        refused: which of the two is newer is unknown
 *   stored revision is higher                           left as it is
 */
export async function installFunctions(
  transaction: Transaction,
  functions: readonly StoredFunction[],
  newest: NewestMigrations,
): Promise<string[]> {
  if (newest.inCode < newest.inDatabase) return [];
  const rows = await transaction.query<{ name: string; revision: number; checksum: string }>(
    'select name, revision, checksum from stored_functions',
  );
  const stored = new Map(rows.map((row) => [row.name, row]));
  const installed: string[] = [];
  for (const one of functions) {
    const { revision = 0, checksum = '' } = stored.get(one.name) ?? {};
    if (one.revision === revision && checksumOf(one) !== checksum) throw sameRevision(one);
    if (one.revision <= revision) continue;
    await install(transaction, one);
    installed.push(`functions/${one.name} revision ${one.revision}`);
  }
  return installed;
}

async function install(transaction: Transaction, one: StoredFunction): Promise<void> {
  try {
    await transaction.script(one.sql);
    await dropShorterSignatures(transaction, one.name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw databaseFailure('refused', `stored function ${one.name} failed: ${reason}`, { cause: error });
  }
  await transaction.query(
    `insert into stored_functions (name, revision, checksum) values ($1, $2, $3)
     on conflict (name) do update
       set revision = excluded.revision, checksum = excluded.checksum, applied_at = now()`,
    [one.name, one.revision, checksumOf(one)],
  );
}

/**
 * A definition with an appended parameter does not replace the one without it: PostgreSQL creates a second function,
 * and then refuses a call that omits the new parameter as ambiguous. Only signatures that the new one covers through its
 * defaults are dropped, so processes of the version before can still call it.
 */
async function dropShorterSignatures(transaction: Transaction, name: string): Promise<void> {
  const shorter = await transaction.query<{ signature: string }>(
    `select older.oid::regprocedure::text as signature
     from pg_proc as older
     join pg_proc as newer on newer.proname = older.proname and newer.pronamespace = older.pronamespace
     where older.proname = $1 and older.pronamespace = current_schema()::regnamespace
       and newer.pronargs > older.pronargs and newer.pronargs - newer.pronargdefaults <= older.pronargs
       and (string_to_array(newer.proargtypes::text, ' '))[:older.pronargs]
         = string_to_array(older.proargtypes::text, ' ')`,
    [name],
  );
  for (const { signature } of shorter) await transaction.script(`drop function ${signature}`);
}

export function checksumOf({ sql }: StoredFunction): string {
  return createHash('sha256').update(sql).digest('hex');
}

function sameRevision({ name, revision }: StoredFunction): Error {
  return databaseFailure(
    'refused',
    `stored function ${name} was changed without a new revision: the database has another definition of revision ` +
      `${revision}. Raise the revision in the first line of migrations/functions/${name}.sql`,
  );
}
