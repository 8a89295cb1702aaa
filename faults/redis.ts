import type { FaultCase } from './frame/fault-case.ts';
import { startLink } from './frame/link.ts';
import { throughFault } from './frame/through-fault.ts';

const FOR_MS = 4_000;
const SLOW_MS = 100;
const TIMEOUT = { REDIS_TIMEOUT_MS: '300' };

export const redisFaults: readonly FaultCase[] = [
  {
    name: 'redis-killed',
    what: 'Redis is killed with -9 under load and started again with nothing in it',
    async run(lab) {
      const { url } = await lab.gateway(TIMEOUT);
      const { kill: away, start: back } = lab.ownRedis();
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'redis-paused',
    what: 'Redis is stopped with SIGSTOP: connections stay open, nothing answers',
    async run(lab) {
      const { url } = await lab.gateway(TIMEOUT);
      const { pause: away, resume: back } = lab.ownRedis();
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'redis-restarted',
    what: 'Redis is restarted three times in a row',
    async run(lab) {
      const { url } = await lab.gateway(TIMEOUT);
      const redis = lab.ownRedis();
      const restart = async () => {
        await redis.kill();
        await redis.start();
      };
      async function away(): Promise<void> {
        for (let time = 0; time < 3; time += 1) await restart();
      }
      return await throughFault(lab, { url, away, back: () => {}, forMs: 0, mustAnswerAll: true });
    },
  },
  {
    name: 'redis-slow',
    what: `every answer of Redis comes ${SLOW_MS} ms late`,
    async run(lab) {
      const link = startLink(lab.ownRedis().port);
      lab.whenEnding(link.close);
      const { url } = await lab.gateway({ REDIS_URL: `redis://127.0.0.1:${link.port}` });
      const [away, back] = [() => link.delay(SLOW_MS), () => link.delay(0)];
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
  {
    name: 'redis-out-of-connections',
    what: 'Redis takes no further client, and the gateway’s connections are cut',
    async run(lab) {
      const { REDIS_URL = '' } = lab.world.environment;
      const { url } = await lab.gateway({ ...TIMEOUT, REDIS_URL });
      const redis = lab.ownRedis();
      async function away(): Promise<void> {
        await redis.command('CONFIG', 'SET', 'maxclients', '1');
        lab.world.toRedis.cut();
        lab.world.toRedis.restore();
      }
      async function back(): Promise<void> {
        lab.world.toRedis.cut();
        await redis.kill();
        await redis.start();
        lab.world.toRedis.restore();
      }
      return await throughFault(lab, { url, away, back, forMs: FOR_MS, mustAnswerAll: true });
    },
  },
];
