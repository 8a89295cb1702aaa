import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { chunk, done, openStream, startScriptedUpstream, usageChunk } from '../gateway/scripted-upstream.ts';
import { freePort } from '../services/free-port.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useProcesses } from '../setup/use-system.ts';
import { type DemoFile, preparedDataFolder, type RunningGroup, startThroughNpm } from './running-system.ts';

const FORCED_AFTER_MS = 2_000;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface OpenCall {
  readonly group: RunningGroup;
  /** Another one beside it. */
  call(): Promise<Response>;
  /** Sends the rest of the answer; what the client has then seen. */
  finish(): Promise<string>;
}

async function startGroup(script: string, env: Record<string, string>): Promise<RunningGroup> {
  const group = startThroughNpm(script, env);
  ends.push(async () => {
    try {
      group.signalGroup('SIGKILL');
    } catch {
      // It has ended, as it should have.
    }
    await group.exited;
  });
  await group.line('ready');
  return group;
}

/** A stream that runs in the system of this npm script, in a process group of its own. */
async function openCall(script: string, dataDir: string, env: Record<string, string>): Promise<OpenCall> {
  const upstream = startScriptedUpstream();
  ends.push(() => upstream.close());
  const stream = openStream();
  upstream.answer(() => stream.response);
  mkdirSync(dataDir, { recursive: true });
  const config = join(dataDir, 'models.json');
  const targets = [{ base_url: upstream.url, model: 'provider-model-x' }];
  writeFileSync(config, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
  const group = await startGroup(script, { ...env, DATA_DIR: dataDir, MODEL_CONFIG: config });
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as DemoFile;
  stream.send(chunk('first'));
  const body = { model: 'svc/chat-default', messages: [], stream: true };
  const call = () => post(`${demo.gateway_url}/chat/completions`, demo.api_key, body);
  const response = await call();
  const text = response.text();
  text.catch(() => {});
  return {
    group,
    call,
    async finish() {
      stream.send(chunk('second') + usageChunk + done);
      stream.end();
      return await text;
    },
  };
}

const repeats = (group: RunningGroup) => group.output().split('a repeated signal counts as one').length - 1;

describe('npm start whose process group is signalled', () => {
  test('SIGTERM, which npm forwards as well, and again: no new calls, the stream ends whole and is settled, exit code 0', async () => {
    const { folder, remove } = await preparedDataFolder();
    ends.push(remove);
    const { group, call, finish } = await openCall('start', folder, {});
    group.signalGroup('SIGTERM');
    await until(() => group.output().includes('"stopping"'));
    const late = await call().then(
      ({ status }) => status,
      () => 'refused',
    );
    expect(late === 'refused' || late === 503).toBe(true);
    group.signalGroup('SIGTERM');
    await until(() => repeats(group) >= 1);
    expect((await finish()).endsWith(done)).toBe(true);
    expect(await group.exited).toBe(0);

    const bounds = { maxWaiting: 10, statementTimeoutMs: 100_000 };
    const at = { folder: join(folder, 'database'), log: createSilentLog() };
    const database = await openPglite({ ...bounds, ...at });
    const calls = await database.query('select outcome, completion_tokens from calls');
    expect(calls).toEqual([{ outcome: 'SUCCEEDED', completion_tokens: 5n }]);
    await database.close();
  });

  test('a signal two seconds later forces the end', async () => {
    const { folder, remove } = await preparedDataFolder();
    ends.push(remove);
    const { group } = await openCall('start', folder, {});
    group.signalGroup('SIGTERM');
    await until(() => group.output().includes('"stopping"'));
    await Bun.sleep(FORCED_AFTER_MS + 200);
    group.signalGroup('SIGTERM');
    expect(await group.exited).toBe(143);
  });
});

describeServers('several processes whose group is signalled', () => {
  const processes = useProcesses();

  test.each([
    ['start', 4, 'SIGTERM'],
    ['start:gateway', 3, 'SIGINT'],
  ] as const)(
    'npm run %s with GATEWAY_PROCESSES=2, which are %d, on %s: the stream ends whole, exit code 0',
    async (script, count, signal) => {
      const { DATA_DIR = '', ...environment } = processes.environment;
      const { group, finish } = await openCall(script, DATA_DIR, {
        ...environment,
        GATEWAY_PROCESSES: '2',
        GATEWAY_PORT: String(freePort()),
      });
      group.signalGroup(signal);
      await until(() => group.output().split('"stopping"').length - 1 === count);
      group.signalGroup(signal);
      // Those that have no call to finish may have ended before the second signal; the one with the stream has not.
      await until(() => repeats(group) >= 1);
      expect((await finish()).endsWith(done)).toBe(true);
      expect(await group.exited).toBe(0);
    },
  );

  test.each(['start:backend', 'start:ai'])('npm run %s: exit code 0', async (script) => {
    const group = await startGroup(script, { ...processes.environment });
    group.signalGroup('SIGTERM');
    expect(await group.exited).toBe(0);
  });
});
