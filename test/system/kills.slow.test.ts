import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { freePort } from '../services/free-port.ts';
import {
  childrenOf,
  emptyDataFolder,
  isAlive,
  preparedDataFolder,
  startProcess,
  startSystem,
} from './running-system.ts';

/**
 * Moments of a start, in milliseconds after its beginning: folder, lock, cluster, migrations, demo world, ready. They
 * are on one folder, one after the other: so early, little is there that the next start could find.
 */
const MOMENTS_OF_A_FIRST_START = [120, 300, 900, 2_500];
const MOMENTS_OF_A_WARM_START = [100, 400, 1_000];

async function killAfter(folder: string, delayMs: number): Promise<void> {
  const running = startProcess('everything.ts', [], { DATA_DIR: folder });
  await Promise.race([running.exited, Bun.sleep(delayMs)]);
  running.signal('SIGKILL');
  await running.exited;
}

async function startsWell(folder: string, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<string> {
  const system = await startSystem(folder);
  const { backend_url } = system.demo();
  const health = await (await fetch(`${backend_url}/health`)).json();
  expect(health).toMatchObject({ status: 'ok' });
  system.signal(signal);
  expect(await system.exited).toBe(0);
  // A second start audits the payment provider at once. The sandbox is closed after the jobs, so that they end.
  expect(system.output() + system.errors()).not.toContain('did not answer');
  return demoOf(folder);
}

/** What `demo.json` says, but for the ports. */
function demoOf(folder: string): string {
  return readFileSync(join(folder, 'demo.json'), 'utf8').replace(/127\.0\.0\.1:\d+/g, '');
}

describe('kill -9', () => {
  test('at any time during the first start: the next start works', async () => {
    const { folder, remove } = await emptyDataFolder();
    for (const moment of MOMENTS_OF_A_FIRST_START) await killAfter(folder, moment);
    await startsWell(folder);
    await remove();
  });

  test('repeatedly on one folder, at last after an acknowledged row: the next start works and SIGINT ends it, and the demo world and the row are there', async () => {
    const { folder, remove } = await preparedDataFolder();
    const addOperator = async () => {
      const words = ['create-super-admin', 'kept@x.example'];
      const command = startProcess('turnpike.ts', words, { DATA_DIR: folder });
      await command.exited;
      return command.output() + command.errors();
    };
    const before = demoOf(folder);
    for (const moment of MOMENTS_OF_A_WARM_START) await killAfter(folder, moment);
    const system = await startSystem(folder);
    expect(await addOperator()).toContain('is a super admin');
    system.signal('SIGKILL');
    await system.exited;
    expect(await startsWell(folder, 'SIGINT')).toBe(before);
    // Without a running process the command line opens the database itself.
    expect(await addOperator()).toContain('has an account already');
    await remove();
  });
});

describe('kill -9 of one of the two processes of npm start', () => {
  const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };

  test('the backend’s: every model call is answered and charged, and it restarts on its port', async () => {
    const { folder, remove } = await preparedDataFolder();
    const system = await startSystem(folder, { BACKEND_PORT: String(freePort()) });
    const { gateway_url, backend_url, full_key } = system.demo();
    const call = async () => (await post(`${gateway_url}/chat/completions`, full_key, CHAT)).status;
    const statuses = [await call()];
    const [backend = 0] = childrenOf(system.pid);
    process.kill(backend, 'SIGKILL');
    await until(() => !isAlive(backend));
    for (let n = 0; n < 10; n += 1) statuses.push(await call());
    expect(new Set(statuses)).toEqual(new Set([200]));
    await until(async () => (await fetch(`${backend_url}/health`)).ok);
    expect(childrenOf(system.pid)).toHaveLength(1);
    expect(await audited(folder)).toContain('11 calls');
    system.signal('SIGTERM');
    expect(await system.exited).toBe(0);
    await remove();
  });

  test('the gateway’s: the backend ends with it, busy or not, and the next start has its ports and all rows', async () => {
    const { folder, remove } = await preparedDataFolder();
    const ports = { GATEWAY_PORT: String(freePort()), BACKEND_PORT: String(freePort()) };
    const system = await startSystem(folder, ports);
    const { gateway_url, full_key } = system.demo();
    const call = async () => (await post(`${gateway_url}/chat/completions`, full_key, CHAT)).status;
    expect(await call()).toBe(200);
    const [backend = 0] = childrenOf(system.pid);
    process.kill(backend, 'SIGSTOP');
    expect(await Promise.all(Array.from({ length: 20 }, call))).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
    system.signal('SIGKILL');
    await until(() => !isAlive(backend));
    // Without a running process the command opens the database itself.
    expect(await audited(folder)).toContain('21 calls');
    const again = await startSystem(folder, ports);
    expect(await audited(folder)).toContain('21 calls');
    again.signal('SIGTERM');
    expect(await again.exited).toBe(0);
    await remove();
  });

  /** What `turnpike audit` prints; it fails with what it complains of. */
  async function audited(folder: string): Promise<string> {
    const audit = startProcess('turnpike.ts', ['audit'], { DATA_DIR: folder });
    const exitCode = await audit.exited;
    expect(exitCode === 0 ? 0 : `${exitCode}: ${audit.errors()}`).toBe(0);
    return audit.output();
  }
});
