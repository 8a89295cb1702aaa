import { SQL } from 'bun';
import type { FaultCase } from './frame/fault-case.ts';
import { startLink } from './frame/link.ts';
import { throughFault } from './frame/through-fault.ts';

const SHORT_DEADLINE = { COMMIT_DEADLINE_MS: '500' };
const FOR_MS = 4_000;
/** Each statement waits for it there and back. */
const SLOW_MS = 250;

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
