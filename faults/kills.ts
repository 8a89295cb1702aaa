import { until } from '../test/doubles/until.ts';
import { freePort } from '../test/services/free-port.ts';
import { childrenOf, startProcess, startSystem } from '../test/system/running-system.ts';
import { holds } from './frame/expect.ts';
import type { FaultCase, Findings, Lab } from './frame/fault-case.ts';
import { originOf } from './frame/host.ts';
import { callMany, callOnce, keepCalling, refusedOf, type TimedCall, tally } from './frame/load.ts';
import { throughFault } from './frame/through-fault.ts';

export const killFaults: readonly FaultCase[] = [
  {
    name: 'kill-gateway',
    what: 'a gateway alone is killed with -9 under 100 calls at once, three times, and started again',
    async run(lab) {
      const lost: string[] = [];
      let recoveryMs = 0;
      for (let kill = 0; kill < 3; kill += 1) {
        const gateway = await lab.gateway();
        lab.world.answerAfter(() => 20 + Math.random() * 1_500);
        let answered = 0;
        const calling = Promise.all(
          Array.from({ length: 100 }, async () => {
            const call = await callOnce(gateway.url, lab.world.rawKey);
            answered += 1;
            return call;
          }),
        );
        await until(() => answered > 10 + kill * 25);
        const killedAt = performance.now();
        gateway.signal('SIGKILL');
        const calls = await calling;
        await gateway.exited;
        lab.seen.push(...calls);
        lost.push(tally(calls));
        const next = await lab.gateway();
        lab.seen.push(...(await callMany(1, next.url, lab.world.rawKey)));
        recoveryMs = Math.max(recoveryMs, performance.now() - killedAt);
        next.signal('SIGTERM');
        await next.exited;
      }
      await untilLeft(lab);
      return {
        kept: 'nothing: it was the only one. Its successor charges what its journal holds',
        refused: lost.join(' | '),
        ...{ recoveryMs, lost: '', problems: [] },
      };
    },
  },
  {
    name: 'kill-one-of-several',
    what: 'one of two gateway processes on a port is killed with -9 under load',
    async run(lab) {
      const parent = await lab.gateway({ GATEWAY_PROCESSES: '2', GATEWAY_PORT: String(freePort()) });
      const [killed = 0] = childrenOf(parent.pid);
      const isReplaced = () => childrenOf(parent.pid).filter((pid) => pid !== killed).length === 2;
      const findings = await throughFault(lab, {
        url: parent.url,
        away: () => void process.kill(killed, 'SIGKILL'),
        back: () => until(isReplaced, 30_000),
        forMs: 200,
      });
      await untilLeft(lab);
      const cut = Number(/(\d+) × cut/.exec(findings.refused)?.[1] ?? 0);
      const problems = holds(cut <= 20, 'more calls were cut than were in flight');
      return { ...findings, problems: [...findings.problems, ...problems] };
    },
  },
  {
    name: 'kill-backend-and-ai-service',
    what: 'the backend and the AI service are killed with -9 while calls run, and started again',
    async run(lab) {
      const { url } = await lab.gateway();
      const own = { DEMO_WORLD: 'off', BACKEND_PORT: '0', AI_PORT: '0', SANDBOX_PORT: '0' };
      const first = [await lab.start('backend.ts', own), await lab.start('ai-service.ts', own)];
      const load = keepCalling(url, lab.world.rawKey, 10);
      await until(() => load.seen.length > 20);
      const killedAt = performance.now();
      for (const process of first) process.signal('SIGKILL');
      await Promise.all(first.map(({ exited }) => exited));
      const next = await Promise.all([lab.start('backend.ts', own), lab.start('ai-service.ts', own)]);
      const recoveryMs = performance.now() - killedAt;
      const healthy = await Promise.all(
        next.map(async (process) => (await fetch(`${await originOf(process)}/health`)).status),
      );
      const calls = await load.stop();
      lab.seen.push(...calls);
      return {
        kept: `model calls: ${tally(calls)}`,
        refused: `calls of the two while they were gone; model calls: ${refusedOf(calls)}`,
        ...{ recoveryMs, lost: '' },
        problems: [
          ...holds(
            calls.every(({ isWhole }) => isWhole),
            `model calls failed: ${refusedOf(calls)}`,
          ),
          ...holds(
            healthy.every((status) => status === 200),
            `not healthy after it: ${healthy}`,
          ),
        ],
      };
    },
  },
  {
    name: 'kill-everything',
    what: 'the whole system in one process is killed with -9 under load, with its database’s connections',
    async run(lab) {
      const own = {
        GATEWAY_PORT: '0',
        BACKEND_PORT: '0',
        AI_PORT: '0',
        SANDBOX_PORT: '0',
        DEMO_WORLD: 'off',
      };
      const start = () => lab.start('everything.ts', own);
      const first = await start();
      const load = keepCalling(gatewayOf(first), lab.world.rawKey, 20);
      await until(() => load.seen.length > 40);
      first.signal('SIGKILL');
      const killedAt = performance.now();
      await first.exited;
      await Bun.sleep(100);
      lab.seen.push(...(await load.stop()));
      const second = await start();
      const after = await callMany(10, gatewayOf(second), lab.world.rawKey);
      const recoveryMs = performance.now() - killedAt;
      lab.seen.push(...after);
      await untilLeft(lab);
      return {
        kept: 'nothing: it was all of it',
        refused: refusedOf(load.seen),
        ...{ recoveryMs, lost: '' },
        problems: holds(
          after.every(({ isWhole }) => isWhole),
          `after the start: ${refusedOf(after)}`,
        ),
      };
    },
  },
  {
    name: 'kill-embedded',
    what: 'the whole system on its embedded parts is killed with -9 under load, four times, and started again',
    run: killEmbedded,
  },
];

const EMBEDDED_LANES = 32;
const EMBEDDED_KILLS = 4;

/** It has books of its own, which nothing but the command line opens after a kill. */
async function killEmbedded(lab: Lab): Promise<Findings> {
  const dataDir = lab.freshPath();
  const many = ['--rpm', '1000000', '--tpm', '100000000', '--in-flight', '1000'];
  let key: string | null = null;
  const seen: TimedCall[] = [];
  const audits: string[] = [];
  const problems: string[] = [];
  let recoveryMs = 0;
  for (let kill = 0; kill < EMBEDDED_KILLS; kill += 1) {
    const startedAt = performance.now();
    const system = await startSystem(dataDir, { IP_REQUESTS_PER_MINUTE: '0', LOG_LEVEL: 'warn' });
    lab.whenEnding(() => system.signal('SIGKILL'));
    if (kill > 0) recoveryMs = Math.max(recoveryMs, performance.now() - startedAt);
    const { company_id, gateway_url } = system.demo();
    key ??=
      /tpk_\w+/.exec((await commandOn(dataDir, ['mint-key', company_id, 'load', ...many])).text)?.[0] ?? '';
    const load = keepCalling(gateway_url, key, EMBEDDED_LANES);
    await until(() => load.seen.length > 200 + kill * 300, 60_000);
    system.signal('SIGKILL');
    seen.push(...(await load.stop()));
    await system.exited;
    const { exitCode, text } = await commandOn(dataDir, ['audit']);
    const charged = Number(/(\d+) calls/.exec(text)?.[1] ?? -1);
    const whole = seen.filter(({ isWhole }) => isWhole).length;
    audits.push(`${whole} answered, ${charged} recorded`);
    problems.push(
      ...holds(exitCode === 0, `turnpike audit: ${text}`),
      ...holds(charged >= whole, `answered and not recorded: ${whole - charged}`),
      ...holds(charged <= whole + (kill + 1) * EMBEDDED_LANES, 'more was recorded than was in flight'),
    );
  }
  return {
    kept: `nothing: it was all of it. After each kill: ${audits.join(' | ')}`,
    refused: refusedOf(seen),
    ...{ recoveryMs, lost: '', problems },
  };
}

async function commandOn(dataDir: string, words: readonly string[]) {
  const command = startProcess('turnpike.ts', words, { DATA_DIR: dataDir });
  const exitCode = await command.exited;
  return { exitCode, text: `${command.output()}${command.errors()}` };
}

/** What PostgreSQL had not yet read when its client died has been done by then. */
async function untilLeft({ world }: Lab): Promise<void> {
  await until(async () => {
    const left = await world.database.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name like 'turnpike gateway%'
         and state = 'active'`,
    );
    return left.length === 0;
  });
}

const gatewayOf = ({ output }: { output(): string }) => /http:\S+\/llm\/v1/.exec(output())?.[0] ?? '';
