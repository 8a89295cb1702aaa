import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { freePort } from '../services/free-port.ts';
import { childrenOf, isAlive, preparedDataFolder, startProcess, startSystem } from './running-system.ts';

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
