import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Migration, migrate, oldestCodeOf, readSchema } from '../../../src/adapters/database/migrate.ts';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { installFunctions, type StoredFunction } from '../../../src/adapters/database/stored-functions.ts';
import type { Database } from '../../../src/ports/database.ts';
import { failureOf } from '../../contracts/database.contract.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { freshDatabase } from '../../services/fresh-database.ts';
import { givenDatabase } from '../../services/given.ts';
import { useResource } from '../../setup/use-resource.ts';

const bounds = { log: createSilentLog(), maxWaiting: 100, statementTimeoutMs: 100_000 };

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
    const settings = { ...bounds, url, poolSize: 2, connectTimeoutMs: 60_000, applicationName: 'test' };
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

/** Opening another database takes a second. */
const EMPTIED = 'drop schema public cascade; create schema public';

const only = (...migrations: Migration[]) => ({ migrations, functions: [] });

function migrationRules(name: string, open: typeof openEmbedded): void {
  describe(`migrations on ${name}`, () => {
    let database: Database;
    const opened = useResource(() => open());
    beforeEach(async () => {
      database = opened.database;
      await database.script(EMPTIED);
    });

    test('missing steps are applied in order, once, and returned', async () => {
      expect(await migrate(database, only(first))).toEqual(['0001_first']);
      expect(await migrate(database, only(first, second))).toEqual(['0002_second']);
      expect(await migrate(database, only(first, second))).toEqual([]);
      expect(await database.query('select n, m from first')).toEqual([{ n: 1, m: null }]);
    });

    test('a failed migration leaves the version before it complete, and is named', async () => {
      const failure = await failureOf(migrate(database, only(first, broken)));
      expect(failure.message).toStartWith('migration 0002_broken failed: division by zero');
      const tables = "select 1 from pg_tables where schemaname = 'public'";
      expect(await database.query(tables)).toEqual([]);
      expect(await migrate(database, only(first))).toEqual(['0001_first']);
    });

    test('a newer database is refused and not changed', async () => {
      await migrate(database, only(first, second));
      const failure = await failureOf(migrate(database, only(first)));
      expect(failure.message).toBe(
        'the database is newer than this code: it has 0002_second, this code ends at number 1, and it supports code ' +
          'from number 2 on. Run the newer version or the release before it, or restore a backup from before the upgrade',
      );
      expect(await migrate(database, only(first, second))).toEqual([]);
      // Of a version that does not say what it supports.
      await database.query('delete from schema_support');
      await failureOf(migrate(database, only(first)));
    });

    test('code of the previous release starts on a newer database, and changes nothing', async () => {
      const third = { number: 3, name: '0003_third', sql: 'create table third (n integer)' };
      const support = async () => await database.query('select oldest_code as oldest from schema_support');
      await migrate(database, { migrations: [first, second], functions: [answer(2, 20)], oldestCode: 1 });
      const heard: string[] = [];
      const older = { migrations: [first], functions: [answer(3, 30)], oldestCode: null };
      expect(await migrate(database, older, { onNewerSchema: (name) => heard.push(name) })).toEqual([]);
      expect([heard, await support()]).toEqual([['0002_second'], [{ oldest: 1 }]]);
      expect(await database.query('select answer() as value')).toEqual([{ value: 20 }]);
      // Two releases later it is refused, and so is code with a migration that this database never had.
      await migrate(database, { migrations: [first, second, third], functions: [], oldestCode: 2 });
      expect((await failureOf(migrate(database, older))).message).toContain('supports code from number 2 on');
      const elsewhere = { ...second, number: 2.5, name: '0002_elsewhere' };
      const failure = await failureOf(migrate(database, only(first, second, elsewhere)));
      expect(failure.message).toContain('and it lacks 0002_elsewhere, which this code has');
      expect(await migrate(database, { migrations: [first, second], functions: [], oldestCode: 1 })).toEqual(
        [],
      );
      expect(await support()).toEqual([{ oldest: 2 }]);
    });

    test('ten at once migrate once', async () => {
      const databases = await Promise.all(Array.from({ length: 10 }, opened.another));
      const schema = { migrations: [first, second], functions: [answer(1, 10)] };
      const taken = await Promise.all(databases.map((database) => migrate(database, schema)));
      expect(taken.filter((steps) => steps.length > 0)).toEqual([
        ['0001_first', '0002_second', 'functions/answer revision 1'],
      ]);
    });

    test('the real ones apply', async () => {
      const real = await readSchema(join(import.meta.dir, '../../../migrations'));
      const functions = real.functions.map(({ name, revision }) => `functions/${name} revision ${revision}`);
      expect(functions).not.toBeEmpty();
      expect(await migrate(database)).toEqual([...real.migrations.map((step) => step.name), ...functions]);
      expect(await migrate(database)).toEqual([]);
    });
  });
}

test('the schema supports the release before the code, at any commit of a release', () => {
  const steps = [1, 2, 3, 4].map((number) => ({ number, name: `000${number}_step` }));
  const releases = [
    { release: '1.0.0', newest: '0001_step' },
    { release: '1.1.0', newest: '0003_step' },
  ];
  const upTo = (newest: number) =>
    oldestCodeOf(steps.slice(0, newest), releases.slice(0, newest < 3 ? 1 : 2));
  expect([1, 2, 3, 4].map(upTo)).toEqual([null, 1, 1, 3]);
  expect(() => oldestCodeOf(steps, [{ release: '2.0.0', newest: '0009_none' }])).toThrow('does not exist');
});

function answer(revision: number, value: number): StoredFunction {
  const sql = `create or replace function answer() returns integer language sql as $$ select ${value} $$;`;
  return { name: 'answer', revision, sql };
}

function functionRules(name: string, open: typeof openEmbedded): void {
  describe(`stored functions on ${name}`, () => {
    let database: Database;
    const opened = useResource(() => open());
    beforeEach(async () => {
      database = opened.database;
      await database.script(EMPTIED);
    });

    const install = (...functions: StoredFunction[]) => migrate(database, { migrations: [first], functions });
    const call = async (sql = 'select answer() as value') => (await database.query(sql))[0]?.value;

    test('an empty database gets them after its migrations', async () => {
      await install({
        name: 'total',
        revision: 3,
        sql: 'create or replace function total() returns bigint language sql as $$ select sum(n) from first $$;',
      });
      expect(await call('select total() as value')).toBe(1n);
      expect(await database.query('select name, revision from stored_functions')).toEqual([
        { name: 'total', revision: 3 },
      ]);
    });

    test('one with a higher revision is installed, an unchanged or lower one is not executed', async () => {
      await install(answer(1, 10));
      const version = () => call("select xmin::text as value from pg_proc where proname = 'answer'");
      const before = await version();
      expect(await install(answer(1, 10))).toEqual([]);
      expect(await version()).toBe(before);
      expect(await install(answer(2, 20))).toEqual(['functions/answer revision 2']);
      expect(await install(answer(1, 10))).toEqual([]);
      expect(await call()).toBe(20);
    });

    test('the same revision with another definition is refused with advice', async () => {
      await install(answer(2, 20));
      const failure = await failureOf(install(answer(2, 21)));
      expect(failure.message).toBe(
        'stored function answer was changed without a new revision: the database has another definition of ' +
          'revision 2. Raise the revision in the first line of migrations/functions/answer.sql',
      );
      expect(await call()).toBe(20);
    });

    test('code with an older newest migration installs nothing, whatever its revisions are', async () => {
      await install(answer(2, 20));
      const installBy = (inCode: number, ...functions: StoredFunction[]) =>
        database.transaction((transaction) =>
          installFunctions(transaction, functions, { inCode, inDatabase: 2 }),
        );
      expect(await installBy(1, answer(3, 30))).toEqual([]);
      expect(await installBy(1, answer(2, 21))).toEqual([]);
      expect(await call()).toBe(20);
      expect(await installBy(2, answer(3, 30))).toEqual(['functions/answer revision 3']);
      expect(await call()).toBe(30);
    });

    test('a function that fails is named, and leaves the version before it complete', async () => {
      await install(answer(1, 10));
      const failure = await failureOf(
        install(answer(2, 20), { ...answer(1, 1), name: 'broken', sql: 'creat' }),
      );
      expect(failure.message).toStartWith('stored function broken failed: syntax error');
      expect(await call()).toBe(10);
    });
  });
}

migrationRules('PGlite', openEmbedded);
functionRules('PGlite', openEmbedded);
describe.skipIf(givenDatabase() === null)('PostgreSQL', () => {
  migrationRules('PostgreSQL', openServer);
  functionRules('PostgreSQL', openServer);
});

test('a server older than 15 is refused in one sentence', async () => {
  if (givenDatabase() === null) return;
  const { url, drop } = await freshDatabase();
  const settings = { ...bounds, url, poolSize: 1, connectTimeoutMs: 60_000, applicationName: 'test' };
  const failure = await failureOf(openPostgres({ ...settings, oldestVersion: 99 }));
  expect(failure.message).toMatch(/^PostgreSQL \d+.* is too old: version 99 or newer is needed$/);
  await drop();
});
