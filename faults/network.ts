import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../test/doubles/until.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { startLink } from './frame/link.ts';
import { throughFault } from './frame/through-fault.ts';

const FOR_MS = 4_000;
const ENV = { COMMIT_DEADLINE_MS: '500', REDIS_TIMEOUT_MS: '300' };
const NAMESPACE = `turnpike-${process.pid}`;
/** Two cables: clients and provider on the one, PostgreSQL and Redis on the other, which is pulled. */
const CABLES = [
  { name: `tpa${process.pid}`, ours: '10.213.61.1', theirs: '10.213.61.2' },
  { name: `tpb${process.pid}`, ours: '10.213.62.1', theirs: '10.213.62.2' },
] as const;

export const networkFaults: readonly FaultCase[] = [
  {
    name: 'network-silent',
    what: 'nothing passes between the gateway and both servers any more, and no side is notified; then traffic resumes',
    isQuick: true,
    async run(lab) {
      const { DATABASE_URL = '', REDIS_URL = '' } = lab.world.environment;
      const { url } = await lab.gateway({ ...ENV, DATABASE_URL, REDIS_URL });
      const { toDatabase, toRedis } = lab.world;
      const away = () => [toDatabase, toRedis].forEach((link) => void link.hold());
      const back = () => [toDatabase, toRedis].forEach((link) => void link.release());
      return await throughFault(lab, { url, away, back, forMs: 2_000, mustAnswerAll: true });
    },
  },
  {
    name: 'network-cut',
    what: 'a gateway in a network of its own loses the cable to PostgreSQL and Redis, and gets it back',
    needs: 'root',
    async run(lab) {
      const [front, back] = CABLES;
      makeNetwork(lab);
      const { url, pid } = await startInside(lab, front, back);
      lab.whenEnding(() => void process.kill(pid, 'SIGKILL'));
      return await throughFault(lab, {
        url,
        away: () => ip('link', 'set', back.name, 'down'),
        back: () => ip('link', 'set', back.name, 'up'),
        forMs: FOR_MS,
        mustAnswerAll: true,
      });
    },
  },
  {
    name: 'network-flapping',
    what: 'connections to both servers are cut ten times in five seconds',
    async run(lab) {
      const { DATABASE_URL = '', REDIS_URL = '' } = lab.world.environment;
      const { url } = await lab.gateway({ ...ENV, DATABASE_URL, REDIS_URL });
      const { toDatabase, toRedis } = lab.world;
      async function away(): Promise<void> {
        for (let time = 0; time < 10; time += 1) {
          for (const link of [toDatabase, toRedis]) link.cut();
          await Bun.sleep(250);
          for (const link of [toDatabase, toRedis]) link.restore();
          await Bun.sleep(250);
        }
      }
      return await throughFault(lab, { url, away, back: () => {}, forMs: 0, mustAnswerAll: true });
    },
  },
];

function makeNetwork(lab: Lab): void {
  ip('netns', 'add', NAMESPACE);
  lab.whenEnding(() => ip('netns', 'del', NAMESPACE));
  for (const { name, ours, theirs } of CABLES) {
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}x`);
    ip('link', 'set', `${name}x`, 'netns', NAMESPACE);
    ip('addr', 'add', `${ours}/30`, 'dev', name);
    ip('link', 'set', name, 'up');
    ip('-n', NAMESPACE, 'addr', 'add', `${theirs}/30`, 'dev', `${name}x`);
    ip('-n', NAMESPACE, 'link', 'set', `${name}x`, 'up');
  }
  ip('-n', NAMESPACE, 'link', 'set', 'lo', 'up');
}

function ip(...words: string[]): void {
  const done = Bun.spawnSync(['ip', ...words]);
  if (done.exitCode !== 0) throw new Error(`ip ${words.join(' ')}: ${done.stderr}`);
}

async function startInside(lab: Lab, front: (typeof CABLES)[0], back: (typeof CABLES)[1]) {
  const provider = startLink(Number(new URL(lab.world.upstream.url).port), front.ours);
  const database = startLink(Number(new URL(lab.ownPostgres().url).port), back.ours);
  const redis = startLink(lab.ownRedis().port, back.ours);
  for (const link of [provider, database, redis]) lab.whenEnding(link.close);
  const config = join(lab.world.dataDir, 'inside.json');
  const targets = [{ base_url: `http://${front.ours}:${provider.port}/v1`, model: 'provider-model-x' }];
  writeFileSync(config, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
  const address = new URL(lab.world.environment.DATABASE_URL ?? '');
  address.host = `${back.ours}:${database.port}`;
  const program = new URL('../src/start/gateway.ts', import.meta.url).pathname;
  const child = Bun.spawn(['ip', 'netns', 'exec', NAMESPACE, process.execPath, program], {
    env: {
      ...{ PATH: process.env.PATH ?? '', BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' },
      ...{ ...lab.world.environment, ...ENV, GATEWAY_PORT: '8080', HOST: front.theirs },
      ...{ DATABASE_URL: address.href, REDIS_URL: `redis://${back.ours}:${redis.port}` },
      ...{ MODEL_CONFIG: config, UPSTREAM_PRIVATE_NETWORKS: '10.213.61.0/30', ALLOW_PUBLIC_DEMO: 'on' },
    },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const origin = `http://${front.theirs}:8080`;
  await until(async () => (await fetch(`${origin}/healthz`)).ok, 30_000);
  return { url: `${origin}/llm/v1`, pid: child.pid };
}
