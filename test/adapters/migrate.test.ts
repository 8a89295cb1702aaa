import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { migrate, readMigrations } from '../../src/adapters/database/migrate.ts';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import type { Database } from '../../src/ports/database.ts';
import { failureOf } from '../contracts/database.contract.ts';
import { embeddedFolder } from '../doubles/embedded-folder.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { freshDatabase } from '../services/fresh-database.ts';
import { givenDatabase } from '../services/given.ts';

const bounds = { log: createSilentLog(), maxWaiting: 100, statementTimeoutMs: 5_000 };

async function openEmbedded() {
  const { folder, remove } = await embeddedFolder();
  const database = await openPglite({ ...bounds, folder: join(folder, 'database') });
  const close = async () => {
    await database.close();
    await remove();
  };
  return { database, another: async () => database, close };
}

async function openServer() {
  const { url, drop } = await freshDatabase();
  const opened: Database[] = [];
  const another = async () => {
    const settings = { ...bounds, url, poolSize: 2, connectTimeoutMs: 5_000, applicationName: 'test' };
    const database = await openPostgres(settings);
    opened.push(database);
    return database;
  };
  const close = async () => {
    await Promise.all(opened.map((database) => database.close()));
    await drop();
  };
  return { database: await another(), another, close };
}

const first = {
  number: 1,
  name: '0001_first',
  sql: 'create table first (n integer); insert into first values (1)',
};
const second = { number: 2, name: '0002_second', sql: 'alter table first add column m integer' };
const broken = { number: 2, name: '0002_broken', sql: 'create table half (n integer); select 1 / 0' };

function migrationRules(name: string, open: typeof openEmbedded): void {
  describe(`migrations on ${name}`, () => {
    test('missing steps are taken in order, once, and told', async () => {
      const { database, close } = await open();
      expect(await migrate(database, [first])).toEqual(['0001_first']);
      expect(await migrate(database, [first, second])).toEqual(['0002_second']);
      expect(await migrate(database, [first, second])).toEqual([]);
      expect(await database.query('select n, m from first')).toEqual([{ n: 1, m: null }]);
      await close();
    });

    test('a step that fails leaves the version before it whole, and is named', async () => {
      const { database, close } = await open();
      const failure = await failureOf(migrate(database, [first, broken]));
      expect(failure.message).toStartWith('migration 0002_broken failed: division by zero');
      const tables = "select 1 from pg_tables where schemaname = 'public'";
      expect(await database.query(tables)).toEqual([]);
      expect(await migrate(database, [first])).toEqual(['0001_first']);
      await close();
    });

    test('a newer database is refused and stays as it is', async () => {
      const { database, close } = await open();
      await migrate(database, [first, second]);
      const failure = await failureOf(migrate(database, [first]));
      expect(failure.message).toStartWith('the database is newer than this code: it has 0002_second');
      expect(await migrate(database, [first, second])).toEqual([]);
      await close();
    });

    test('ten at once migrate once', async () => {
      const { another, close } = await open();
      const databases = await Promise.all(Array.from({ length: 10 }, another));
      const taken = await Promise.all(databases.map((database) => migrate(database, [first, second])));
      expect(taken.filter((steps) => steps.length > 0)).toEqual([['0001_first', '0002_second']]);
      await close();
    });

    test('the real ones apply', async () => {
      const { database, close } = await open();
      const real = await readMigrations(join(import.meta.dir, '../../migrations'));
      expect(await migrate(database)).toEqual(real.map((step) => step.name));
      await close();
    });
  });
}

migrationRules('PGlite', openEmbedded);
describe.skipIf(givenDatabase() === null)('PostgreSQL', () => {
  migrationRules('PostgreSQL', openServer);
});

test('a server older than 15 is refused in one sentence', async () => {
  if (givenDatabase() === null) return;
  const { url, drop } = await freshDatabase();
  const settings = { ...bounds, url, poolSize: 1, connectTimeoutMs: 5_000, applicationName: 'test' };
  const failure = await failureOf(openPostgres({ ...settings, oldestVersion: 99 }));
  expect(failure.message).toMatch(/^PostgreSQL \d+.* is too old: version 99 or newer is needed$/);
  await drop();
});
