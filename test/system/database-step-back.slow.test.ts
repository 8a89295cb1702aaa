import { afterAll, describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrate } from '../../src/adapters/database/migrate.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import type { Database } from '../../src/ports/database.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { postgresProgram } from '../services/find-or-install.ts';
import { migratedDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { makePrivateFolder } from '../services/private-folder.ts';
import { makePrivateStandby, startPrivatePostgres } from '../services/private-postgres.ts';
import { callMany, callOnce, expectAgreeingBooks, notWhole, type SeenCall } from './credit-clients.ts';
import {
  CHARGE_MICRO,
  type CreditWorld,
  GRANTED_MICRO,
  openCreditWorld,
  type RunningGateway,
} from './credit-world.ts';

const binaries = postgresProgram.find();
const missing = givenDatabase() === null || givenRedis() === null || binaries === null;
/** A level is read again when it is five seconds old: with the fault, calls are refused from then on. */
const CALLED_FOR_MS = 8_000;
const CALLS = 40;
/** More than are called afterwards, so that versions stay below the ones that Redis knows. */
const LOST = 100;

describe.skipIf(missing)(
  'G-33 a database that has lost its last commits, beside a Redis that knows them',
  () => {
    const ending: (() => unknown)[] = [];
    const gateways: RunningGateway[] = [];
    afterAll(async () => {
      // Before the servers that they would otherwise look for.
      for (const gateway of gateways) gateway.signal('SIGKILL');
      await Promise.all(gateways.map(({ exited }) => exited));
      for (const end of ending.toReversed()) await end();
    });

    async function open(
      given = migratedDatabase(),
    ): Promise<{ world: CreditWorld; gateway: RunningGateway }> {
      const world = await openCreditWorld(given);
      ending.push(world.close);
      const gateway = await world.startGateway({ COMMIT_DEADLINE_MS: '500' });
      gateways.push(gateway);
      return { world, gateway };
    }

    async function version({ database, companyId }: CreditWorld): Promise<bigint> {
      const read = () =>
        database.query<{ version: bigint }>('select version from credit_accounts where id = $1', [companyId]);
      // The first query after a restore may find a connection of before.
      const [row] = await read().catch(read);
      return row?.version ?? 0n;
    }

    /** Every call is answered while the level ages and is read again, and the books agree in the end. */
    async function expectServing(
      world: CreditWorld,
      gateway: RunningGateway,
      database: Database,
    ): Promise<void> {
      const seen: SeenCall[] = [];
      for (let call = 0; call < CALLS; call += 1) {
        seen.push(await callOnce(gateway.url, world.rawKey));
        await Bun.sleep(CALLED_FOR_MS / CALLS);
      }
      expect(notWhole(seen)).toEqual([]);
      await until(() => gateway.output().includes('the database has lost commits'));
      const account = 'select balance_micro as balance from credit_accounts where id = $1';
      const charged = "select count(*) as count from credit_transactions where source_kind = 'call'";
      await until(async () => {
        const [[held], [posted]] = await Promise.all([
          database.query<{ balance: bigint }>(account, [world.companyId]),
          database.query<{ count: bigint }>(charged),
        ]);
        const count = posted?.count ?? 0n;
        return count >= BigInt(seen.length) && held?.balance === GRANTED_MICRO - CHARGE_MICRO * count;
      });
      await expectAgreeingBooks(database);
    }

    test('pg_restore of a backup into the same server: calls are answered throughout', async () => {
      const fresh = await migratedDatabase();
      const { world, gateway } = await open(Promise.resolve(fresh));
      await callMany(10, gateway.url, world.rawKey);
      const backup = join(world.dataDir, 'backup.dump');
      run('pg_dump', '--format', 'custom', '--file', backup, fresh.url);
      const atBackup = await version(world);
      await callMany(LOST, gateway.url, world.rawKey);
      expect(await version(world)).toBeGreaterThan(atBackup);
      await replaceDatabase(fresh.url);
      run('pg_restore', '--no-owner', '--dbname', fresh.url, backup);
      expect(await version(world)).toBe(atBackup);
      await expectServing(world, gateway, world.database);
    });

    test('a standby that lacks the last commits is promoted: calls are answered throughout', async () => {
      const folder = makePrivateFolder();
      ending.push(() => rmSync(folder, { recursive: true, force: true }));
      const primary = await startPrivatePostgres(binaries ?? '', folder);
      const first = await openAt(primary.url);
      await migrate(first);
      await first.close();
      const { world, gateway } = await open(Promise.resolve({ url: primary.url, drop: primary.stop }));
      await callMany(10, gateway.url, world.rawKey);
      const standby = await makePrivateStandby(binaries ?? '', folder, primary.url);
      const atCopy = await version(world);
      await callMany(LOST, gateway.url, world.rawKey);
      const atEnd = await version(world);
      world.toDatabase.cut();
      await primary.stop();
      const promoted = await standby.start();
      ending.push(promoted.stop);
      const database = await openAt(promoted.url);
      ending.push(database.close);
      await database.query('select pg_promote()');
      const atPromotion = await version({ ...world, database });
      expect(atPromotion).toBeGreaterThanOrEqual(atCopy);
      expect(atPromotion).toBeLessThan(atEnd);
      world.toDatabase.aim(Number(new URL(promoted.url).port));
      world.toDatabase.restore();
      await expectServing(world, gateway, database);
    });
  },
);

function openAt(url: string): Promise<Database> {
  const bounds = { maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000, poolSize: 2 };
  return openPostgres({ url, log: createSilentLog(), applicationName: 'drill', ...bounds });
}

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
