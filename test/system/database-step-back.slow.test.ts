import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { SQL } from 'bun';
import { until } from '../doubles/until.ts';
import { postgresProgram } from '../services/find-or-install.ts';
import { migratedDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { callMany, callOnce, expectAgreeingBooks, notWhole, type SeenCall } from './credit-clients.ts';
import { CHARGE_MICRO, GRANTED_MICRO, openCreditWorld } from './credit-world.ts';

const binaries = postgresProgram.find();
const missing = givenDatabase() === null || givenRedis() === null || binaries === null;
/** A level is read again when it is five seconds old: with the fault, calls are refused from then on. */
const CALLED_FOR_MS = 8_000;
const CALLS = 40;
/** More than are called afterwards, so that versions stay below the ones that Redis knows. */
const LOST = 100;

test.skipIf(missing)(
  'G-33 pg_restore of a backup, beside a Redis that knows later commits: calls are answered throughout',
  async () => {
    const fresh = await migratedDatabase();
    const world = await openCreditWorld(Promise.resolve(fresh));
    const { database, companyId } = world;
    const gateway = await world.startGateway({ COMMIT_DEADLINE_MS: '500' });
    async function version(): Promise<bigint> {
      const read = () =>
        database.query<{ version: bigint }>('select version from credit_accounts where id = $1', [companyId]);
      // The first query after a restore may find a connection of before.
      const [row] = await read().catch(read);
      return row?.version ?? 0n;
    }

    await callMany(10, gateway.url, world.rawKey);
    const backup = join(world.dataDir, 'backup.dump');
    run('pg_dump', '--format', 'custom', '--file', backup, fresh.url);
    const atBackup = await version();
    await callMany(LOST, gateway.url, world.rawKey);
    expect(await version()).toBeGreaterThan(atBackup);
    await replaceDatabase(fresh.url);
    run('pg_restore', '--no-owner', '--dbname', fresh.url, backup);
    expect(await version()).toBe(atBackup);

    // The level ages and is read again.
    const seen: SeenCall[] = [];
    for (let call = 0; call < CALLS; call += 1) {
      seen.push(await callOnce(gateway.url, world.rawKey));
      await Bun.sleep(CALLED_FOR_MS / CALLS);
    }
    expect(notWhole(seen)).toEqual([]);
    await until(() => gateway.output().includes('the database has lost commits'));
    await until(async () => {
      const [row] = await database.query<{ balance: bigint; count: bigint }>(
        `select balance_micro as balance,
           (select count(*) from credit_transactions where source_kind = 'call') as count
         from credit_accounts where id = $1`,
        [companyId],
      );
      const count = row?.count ?? 0n;
      return count >= BigInt(seen.length) && row?.balance === GRANTED_MICRO - CHARGE_MICRO * count;
    });
    await expectAgreeingBooks(database);
    gateway.signal('SIGKILL');
    await gateway.exited;
    await world.close();
  },
);

function run(program: string, ...words: string[]): void {
  const ended = spawnSync(join(binaries ?? '', program), words, { encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`${program} failed:\n${ended.stderr}`);
}

/** An empty one of the same name; connections to the old one are closed. */
async function replaceDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const sql = new SQL({ url: givenDatabase() ?? '', max: 1 });
  await sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
  await sql.close();
}
