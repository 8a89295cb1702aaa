import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useMemoryDatabase } from '../../../test/setup/use-database.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { checksOf } from './open-server.ts';

const database = useMemoryDatabase();

test('P-1 a database that has become read-only is degraded, and up once it takes writes again', async () => {
  const clock = createManualClock();
  const checks = checksOf({ database, clock, sharedState: createInProcessState({ clock }) });
  const status = async () => (await checks()).database?.status;
  expect(await status()).toBe('up');
  await database.query('set default_transaction_read_only = on');
  await clock.advance(1_000);
  expect(await status()).toBe('degraded');
  await database.query('reset default_transaction_read_only');
  await clock.advance(1_000);
  expect(await status()).toBe('up');
});
