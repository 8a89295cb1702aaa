import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useMemoryDatabase } from '../../../test/setup/use-database.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SecretsInUse } from '../settings/secrets.ts';
import { checksOf } from './open-server.ts';

const ADAPTERS = join(import.meta.dir, '../../adapters');
const database = useMemoryDatabase();

test('P-1 a database that has become read-only is degraded, and up once it takes writes again', async () => {
  const clock = createManualClock();
  const ownSecrets = { masterKey: null } as SecretsInUse;
  const checks = checksOf({ database, clock, ownSecrets, sharedState: createInProcessState({ clock }) });
  const status = async () => (await checks()).database?.status;
  expect(await status()).toBe('up');
  await database.query('set default_transaction_read_only = on');
  await clock.advance(1_000);
  expect(await status()).toBe('degraded');
  await database.query('reset default_transaction_read_only');
  await clock.advance(1_000);
  expect(await status()).toBe('up');
});

test('a process that is without descriptors when it first fetches goes on: its thread for it was started before', async () => {
  const program = `
    import { openSync } from 'node:fs';
    import { createSystemClock } from '${ADAPTERS}/clock/system-clock.ts';
    import { createSystemSecrets } from '${ADAPTERS}/secrets/system-secrets.ts';
    import { openServer } from '${import.meta.dir}/open-server.ts';
    const parts = { clock: createSystemClock(), secrets: createSystemSecrets(), localFaults: {} };
    const asked = Promise.withResolvers();
    const answer = () => (asked.resolve(), new Response());
    openServer({ ...parts, configuration: { host: '127.0.0.1' } }, 'test', 'PORT', 0, answer);
    await asked.promise;
    try {
      for (;;) openSync('/dev/null', 'r');
    } catch {}
    console.log(await fetch('http://127.0.0.1:1/').catch(({ code }) => code));
    process.exit();`;
  const words = ['sh', '-c', 'ulimit -n 256; exec "$0" -e "$1"', process.execPath, program];
  const child = Bun.spawn(words, { stdout: 'pipe', stderr: 'inherit' });
  // Its request to itself may give back its descriptors in the meantime.
  expect(await new Response(child.stdout).text()).toMatch(/^(EMFILE|ECONNREFUSED)\n$/);
  expect(await child.exited).toBe(0);
});
