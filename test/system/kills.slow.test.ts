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
