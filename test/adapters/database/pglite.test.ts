import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { databaseContract, failureOf } from '../../contracts/database.contract.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';

async function openTemporary(maxWaiting = 1_000) {
  const { folder, remove } = await embeddedFolder();
  const options = { folder: join(folder, 'database'), log: createSilentLog(), statementTimeoutMs: 100_000 };
  const database = await openPglite({ ...options, maxWaiting });
  const close = async () => {
    await database.close();
    await remove();
  };
  return { database, close, options };
}

databaseContract('PGlite', openTemporary);

test('a long statement of the embedded database does not block the event loop', async () => {
  const { database, close } = await openTemporary();
  let turns = 0;
  let running = true;
  const spin = () => {
    turns += 1;
    if (running) setImmediate(spin);
  };
  spin();
  await database.query('select count(*) from generate_series(1, 300000)');
  running = false;
  // On the engine's own thread the loop turned tens of thousands of times; in one thread with it, twice.
  expect(turns).toBeGreaterThan(50);
  await close();
});

test('rows survive closing and opening again, and an empty lock file of a killed process does not block it; a damaged database is named, with advice', async () => {
  const { database, close, options } = await openTemporary();
  await database.script('create table kept (n bigint); insert into kept values (7)');
  await database.close();
  writeFileSync(join(options.folder, 'postmaster.pid'), '');
  const again = await openPglite({ ...options, maxWaiting: 10 });
  expect(await again.query('select n from kept')).toEqual([{ n: 7n }]);
  await again.close();
  writeFileSync(join(options.folder, 'global/pg_control'), '');
  const failure = await failureOf(openPglite({ ...options, maxWaiting: 10 }));
  expect(failure.message).toContain(`${options.folder} cannot be opened`);
  expect(failure.message).toContain('restore a backup of DATA_DIR, or start with an empty one');
  rmSync(join(options.folder, 'PG_VERSION'));
  const { message } = await failureOf(openPglite({ ...options, maxWaiting: 10 }));
  expect(message).toContain('its PG_VERSION is missing');
  expect(message).toContain('restore a backup of DATA_DIR, or start with an empty one');
  await close();
});

test('the engine leaves the process its file descriptors, however many tables it reads', async () => {
  const { database, close, options } = await openTemporary();
  const names = Array.from({ length: 400 }, (_, at) => `many_${at}`);
  await database.script(names.map((name) => `create table ${name} (id int);`).join('\n'));
  await database.script(names.map((name) => `select count(*) from ${name};`).join('\n'));
  expect(openFilesBelow(options.folder)).toBeLessThanOrEqual(256);
  await close();
});

/** None where the system does not list them. */
function openFilesBelow(folder: string): number {
  const list = '/proc/self/fd';
  if (!existsSync(list)) return 0;
  return readdirSync(list).filter((name) => {
    const path = join(list, name);
    return existsSync(path) && readlinkSync(path).startsWith(folder);
  }).length;
}

test('past the bound of waiting statements the next one is rejected at once', async () => {
  const { database, close } = await openTemporary(3);
  const running = Array.from({ length: 4 }, () => database.query('select pg_sleep(0.1)'));
  expect((await failureOf(database.query('select 1'))).reason).toBe('busy');
  await Promise.all(running);
  expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
  await close();
});
