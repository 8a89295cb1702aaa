import { rmSync } from 'node:fs';
import { SQL } from 'bun';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { until } from '../test/doubles/until.ts';
import { postgresProgram } from '../test/services/find-or-install.ts';
import { makePrivateFolder } from '../test/services/private-folder.ts';
import { makePrivateStandby } from '../test/services/private-postgres.ts';
import { type CreditWorld, openCreditWorld } from '../test/system/credit-world.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { startLink } from './frame/link.ts';
import { startPausablePostgres } from './frame/pausable-postgres.ts';
import { throughFault } from './frame/through-fault.ts';

const SHORT_DEADLINE = { COMMIT_DEADLINE_MS: '500' };
const FOR_MS = 4_000;
/** Each statement waits for it there and back. */
const SLOW_MS = 250;

/**
 * A primary whose commits wait for its standby, and the way to promote that. The gateway connects by a forwarder, as by a name
 * or a proxy that follows the primary.
 */
async function openReplicated(
  lab: Lab,
): Promise<{ world: CreditWorld; away(): Promise<void>; back(): Promise<void> }> {
  const binaries = postgresProgram.find() ?? '';
  const folder = makePrivateFolder();
  lab.whenEnding(() => rmSync(folder, { recursive: true, force: true }));
  const primary = await startPausablePostgres(binaries, folder);
  lab.whenEnding(primary.kill);
  const openAt = (url: string) => openPostgres({ ...BOUNDS, url, log: createSilentLog() });
  const first = await openAt(primary.url);
  await migrate(first);
  const standby = await (await makePrivateStandby(binaries, folder, primary.url)).start();
  lab.whenEnding(standby.stop);
  await first.query("alter system set synchronous_standby_names = '*'");
  await first.query('select pg_reload_conf()');
  const isSynchronous = "select 1 from pg_stat_replication where state = 'streaming' and sync_state = 'sync'";
  await until(async () => (await first.query(isSynchronous)).length === 1);
  await first.close();
  const world = await openCreditWorld(Promise.resolve({ url: primary.url, drop: async () => {} }));
  lab.whenEnding(world.close);
  const promoted = await openAt(standby.url);
  lab.whenEnding(promoted.close);
  return {
    // Its books are those of the server that took over.
    world: { ...world, database: promoted },
    async away() {
      world.toDatabase.cut();
      await primary.kill();
    },
    async back() {
      await promoted.query('select pg_promote()');
      world.toDatabase.aim(Number(new URL(standby.url).port));
      world.toDatabase.restore();
    },
  };
}

const BOUNDS = {
  ...{ maxWaiting: 1_000, connectTimeoutMs: 5_000, statementTimeoutMs: 30_000, poolSize: 2 },
  applicationName: 'faults',
};

export const postgresFaults: readonly FaultCase[] = [
  {
    name: 'postgres-stopped',
    what: 'PostgreSQL is shut down under load and started again',
    async run(lab) {
      const { url } = await lab.gateway(SHORT_DEADLINE);
      const { stop: away, start: back } = lab.ownPostgres();
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'postgres-killed',
    what: 'all processes of PostgreSQL are killed with -9 under load; it recovers from its log',
    async run(lab) {
      const { url } = await lab.gateway(SHORT_DEADLINE);
      const { kill: away, start: back } = lab.ownPostgres();
      return await throughFault(lab, { url, away, back, forMs: 500, mustAnswerAll: true });
    },
  },
  {
    name: 'postgres-paused',
    what: 'all processes of PostgreSQL are stopped with SIGSTOP: connections stay open, nothing answers',
    async run(lab) {
      const { url } = await lab.gateway(SHORT_DEADLINE);
      const { pause: away, resume: back } = lab.ownPostgres();
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'postgres-slow',
    what: `every answer of PostgreSQL comes ${SLOW_MS} ms late`,
    async run(lab) {
      const link = startLink(Number(new URL(lab.ownPostgres().url).port));
      lab.whenEnding(link.close);
      const address = new URL(lab.world.environment.DATABASE_URL ?? '');
      address.port = String(link.port);
      const { url } = await lab.gateway({ DATABASE_URL: address.href });
      const [away, back] = [() => link.delay(SLOW_MS), () => link.delay(0)];
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'postgres-standby-promoted',
    what: 'the primary is killed with -9 under load and its synchronous standby is promoted',
    async run(lab) {
      const { world, away, back } = await openReplicated(lab);
      const gateway = await world.startGateway(SHORT_DEADLINE);
      lab.whenEnding(async () => {
        gateway.signal('SIGKILL');
        await gateway.exited;
      });
      const own = { ...lab, world };
      const through = { url: gateway.url, away, back, forMs: 1_000, mustAnswerAll: true };
      return { ...(await throughFault(own, through)), world };
    },
  },
  {
    name: 'postgres-out-of-connections',
    what: 'strangers take every connection that PostgreSQL has, and the gateway’s own are cut',
    async run(lab) {
      const { DATABASE_URL = '' } = lab.world.environment;
      const { url } = await lab.gateway({ ...SHORT_DEADLINE, DATABASE_URL });
      const server = lab.ownPostgres().url;
      let strangers: SQL[] = [];
      async function away(): Promise<void> {
        const first = new SQL({ url: server, max: 1 });
        await first`select 1`;
        lab.world.toDatabase.cut();
        const rest = Array.from(
          { length: 210 },
          () => new SQL({ url: server, max: 1, connectionTimeout: 5 }),
        );
        await Promise.all(rest.map((one) => one`select 1`.catch(() => undefined)));
        strangers = [first, ...rest];
        lab.world.toDatabase.restore();
      }
      async function back(): Promise<void> {
        await Promise.all(strangers.map((one) => one.close().catch(() => undefined)));
      }
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
];
