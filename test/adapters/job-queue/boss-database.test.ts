import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { createBossDatabase } from '../../../src/adapters/job-queue/boss-database.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { freshDatabase } from '../../services/fresh-database.ts';
import { givenDatabase } from '../../services/given.ts';
import { useResource } from '../../setup/use-resource.ts';

const settings = { log: createSilentLog(), maxWaiting: 100, statementTimeoutMs: 2_000 };

async function openOnPglite() {
  const { folder, remove } = await embeddedFolder();
  const database = await openPglite({ ...settings, folder: join(folder, 'database') });
  return { database, close: () => database.close().then(remove) };
}

async function openOnPostgres() {
  const { url, drop } = await freshDatabase();
  const connection = { url, applicationName: 'turnpike-test', poolSize: 2, connectTimeoutMs: 60_000 };
  const database = await openPostgres({ ...settings, ...connection });
  return { database, close: () => database.close().then(drop) };
}

function keepsWhatPgBossExpects(open: typeof openOnPglite): void {
  const on = useResource(open);

  test('a script with its own transaction is atomic, does not affect later statements, and has no statement time-out', async () => {
    const { database } = on;
    const { executeSql } = createBossDatabase(database, { onNotice() {}, onReconnect() {} });
    const fail = () => executeSql('\n BEGIN;\n create table half (n integer);\n select 1 / 0;\n COMMIT;\n');
    const failures = await Promise.allSettled([fail(), fail(), fail()]);
    expect(failures).toMatchObject(Array(3).fill({ status: 'rejected', reason: { code: '22012' } }));
    const after = await Promise.all([1, 2, 3, 4].map((n) => database.query('select $1::integer as n', [n])));
    expect(after.flat()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    expect(await executeSql("select to_regclass('half') as half")).toEqual({ rows: [{ half: null }] });
    const whole =
      '\n BEGIN;\n create table whole (n integer);\n select 5 as n from pg_sleep(2.5);\n COMMIT;\n';
    expect(await executeSql(whole)).toEqual({ rows: [{ n: 5 }] });
    expect(await database.query('select count(*) as rows from whole')).toEqual([{ rows: 0n }]);
  });
}

describe('what pg-boss gets: PGlite', () => keepsWhatPgBossExpects(openOnPglite));
describe.skipIf(givenDatabase() === null)('what pg-boss gets: PostgreSQL', () =>
  keepsWhatPgBossExpects(openOnPostgres),
);
