import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import type { Statements } from '../../src/ports/database.ts';
import { givenRedis } from '../services/given.ts';

/** The words that were found, by the table, key or file that has them. */
export type Found = Readonly<Record<string, readonly string[]>>;

/** Without partitions, whose rows are those of their table. */
const TABLES = `select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where relkind in ('r', 'p') and not relispartition and nspname not in ('pg_catalog', 'information_schema')
    and nspname not like 'pg\\_%' order by 1`;

export async function listTables(database: Statements): Promise<readonly string[]> {
  const tables = await database.query<{ name: string }>(TABLES);
  return tables.map(({ name }) => name.replace(/^public\./, ''));
}

/** Every column of every row of every table, whatever its type. Bytes are searched as they are. */
export async function searchTables(database: Statements, words: readonly string[]): Promise<Found> {
  const found: Record<string, readonly string[]> = {};
  for (const name of await listTables(database)) {
    const rows = await database.query<{ row: string }>(
      `select to_jsonb(one)::text as row from ${name} as one`,
    );
    const hits = wordsIn(rows.map(({ row }) => row).join('\n'), words);
    if (hits.length > 0) found[name] = hits;
  }
  return found;
}

/** Every key of the given Redis that has the prefix in its name, and its value. */
export async function searchRedis(prefix: string, words: readonly string[]): Promise<Found> {
  const redis = new RedisClient(givenRedis() ?? '');
  try {
    const found: Record<string, readonly string[]> = {};
    for (const key of await redis.keys(`*${prefix}*`)) {
      const hits = wordsIn(`${key}\n${await readValue(redis, key)}`, words);
      if (hits.length > 0) found[key] = hits;
    }
    return found;
  } finally {
    redis.close();
  }
}

async function readValue(redis: RedisClient, key: string): Promise<string> {
  const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
    string: ['GET', key],
    hash: ['HGETALL', key],
    set: ['SMEMBERS', key],
    zset: ['ZRANGE', key, '0', '-1'],
    list: ['LRANGE', key, '0', '-1'],
    stream: ['XRANGE', key, '-', '+'],
  };
  const type = String(await redis.send('TYPE', [key]));
  // Expired meanwhile.
  if (type === 'none') return '';
  const [command, ...args] = commands[type] ?? [];
  if (command === undefined) throw new Error(`values of the type ${type} cannot be searched`);
  return JSON.stringify(await redis.send(command, args));
}

/** Every file below the folder. */
export async function searchFiles(folder: string, words: readonly string[]): Promise<Found> {
  const found: Record<string, readonly string[]> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const hits = wordsIn(`${path}\n${await readFile(path, 'latin1')}`, words);
    if (hits.length > 0) found[path.slice(folder.length + 1)] = hits;
  }
  return found;
}

/** A column of bytes is shown in hexadecimal digits: so a word is also looked for as its bytes, in three spellings. */
function wordsIn(text: string, words: readonly string[]): readonly string[] {
  const searched = text.toLowerCase();
  return words.filter((word) => {
    const spellings = [word, word.toLowerCase(), word.toUpperCase()];
    const bytes = spellings.map((spelling) => new TextEncoder().encode(spelling).toHex());
    return [word.toLowerCase(), ...bytes].some((one) => searched.includes(one));
  });
}
