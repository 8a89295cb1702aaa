import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { freePort } from '../services/free-port.ts';
import { useSystem } from '../setup/use-system.ts';
import { childrenOf, isAlive, type RunningSystem } from '../system/running-system.ts';

const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };
const CALLS = 20;

/** What a query that never ends does to the process that runs it; nothing in it gets a turn. */
async function callsWhileBackendHangs(system: RunningSystem): Promise<readonly number[]> {
  const { gateway_url, backend_url, full_key } = system.demo();
  const call = async () => (await post(`${gateway_url}/chat/completions`, full_key, CHAT)).status;
  // The embedded models are loaded by the first call.
  await call();
  const backend = backendOf(system);
  process.kill(backend, 'SIGSTOP');
  try {
    const hangs = fetch(`${backend_url}/health`, { signal: AbortSignal.timeout(1_000) });
    expect(
      await hangs.then(
        () => 'answered',
        () => 'hangs',
      ),
    ).toBe('hangs');
    const statuses: number[] = [];
    for (let made = 0; made < CALLS; made += 1) statuses.push(await call());
    return statuses;
  } finally {
    process.kill(backend, 'SIGCONT');
  }
}

function backendOf({ pid }: RunningSystem): number {
  const isBackend = (child: number) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('platform.ts');
  const found = childrenOf(pid).find(isBackend);
  if (found === undefined) throw new Error('the backend has no process of its own');
  return found;
}

describe('a backend that hangs, on the embedded parts', () => {
  const running = useSystem({ BACKEND_PORT: String(freePort()) });

  test('every model call is answered, and the backend continues where it was', async () => {
    expect(await callsWhileBackendHangs(running.system)).toEqual(Array(CALLS).fill(200));
    const { backend_url } = running.demo;
    await until(async () => (await fetch(`${backend_url}/health`)).ok);
  });

  test('a backend that hangs for longer is killed and restarted', async () => {
    const { backend_url } = running.demo;
    const hanging = backendOf(running.system);
    process.kill(hanging, 'SIGSTOP');
    await until(() => !isAlive(hanging));
    await until(async () => (await fetch(`${backend_url}/health`)).ok);
    expect(backendOf(running.system)).not.toBe(hanging);
  });
});
