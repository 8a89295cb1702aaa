import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyDataFolder, preparedDataFolder, startProcess, startSystem } from './running-system.ts';

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
  return readFileSync(join(folder, 'demo.json'), 'utf8').replace(/127\.0\.0\.1:\d+/g, '');
}

describe('kill -9', () => {
  test('at any time during the first start: the next start works', async () => {
    const { folder, remove } = await emptyDataFolder();
    for (const moment of MOMENTS_OF_A_FIRST_START) await killAfter(folder, moment);
    await startsWell(folder);
    await remove();
  }, 240_000);

  test('repeatedly on one folder: the last start works and SIGINT ends it, and the demo world is the same', async () => {
    const { folder, remove } = await preparedDataFolder();
    const before = await startsWell(folder);
    for (const moment of MOMENTS_OF_A_WARM_START) await killAfter(folder, moment);
    expect(await startsWell(folder, 'SIGINT')).toBe(before);
    await remove();
  }, 240_000);

  test('after an acknowledged row: the next start has it', async () => {
    const { folder, remove } = await preparedDataFolder();
    const turnpike = async (email: string) => {
      const running = startProcess('turnpike.ts', ['create-super-admin', email], { DATA_DIR: folder });
      await running.exited;
      return running.output() + running.errors();
    };
    const system = await startSystem(folder);
    expect(await turnpike('kept@x.example')).toContain('is a super admin');
    system.signal('SIGKILL');
    await system.exited;
    const again = await startSystem(folder);
    expect(await turnpike('kept@x.example')).toContain('has an account already');
    again.signal('SIGTERM');
    await again.exited;
    // And without a running process the command line opens the database itself.
    expect(await turnpike('kept@x.example')).toContain('has an account already');
    await remove();
  }, 240_000);
});
