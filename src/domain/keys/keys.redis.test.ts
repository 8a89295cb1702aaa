import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Forwarder, startForwarder } from '../../../test/doubles/forwarder.ts';
import { createKeyRecords } from '../../../test/doubles/key-records.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { givenRedis } from '../../../test/services/given.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { createKeyDirectory } from './key-directory.ts';

const server = givenRedis();

/** The clock stands still, so no answer ever gets too old: only messages and gaps drop anything here. */
describe.skipIf(server === null)('G-23 keys on Redis', () => {
  let forwarder: Forwarder;
  let backend: SharedState;
  let gateway: SharedState;
  beforeAll(async () => {
    const direct = new URL(server ?? '');
    forwarder = startForwarder(Number(direct.port || 6379));
    const broken = new URL(direct);
    broken.hostname = '127.0.0.1';
    broken.port = String(forwarder.port);
    const options = { timeoutMs: 2_000, log: createSilentLog(), prefix: 'turnpike-keys-test' };
    backend = await openRedisState({ ...options, url: direct.href });
    gateway = await openRedisState({ ...options, url: broken.href });
  });
  afterAll(async () => {
    await Promise.all([backend?.close(), gateway?.close()]);
    forwarder?.close();
  });

  test('G-23 a revocation in one process drops the key in another; what happened during a gap is seen after it', async () => {
    const records = createKeyRecords();
    const [clock, secrets, log] = [createManualClock(), createSystemSecrets(), createSilentLog()];
    const directory = await createKeyDirectory({
      database: records,
      sharedState: gateway,
      clock,
      secrets,
      log,
    });
    const outcome = async (rawKey: string) => (await directory.find(rawKey)).outcome;
    const [told, lost] = [records.mint(), records.mint()];
    for (const { rawKey } of [told, lost]) expect(await outcome(rawKey)).toBe('live');

    records.revoke(told.hash);
    await backend.publish('keys', told.hash);
    await until(async () => (await outcome(told.rawKey)) === 'unknown');

    forwarder.cut();
    records.revoke(lost.hash);
    await backend.publish('keys', lost.hash);
    expect(await outcome(lost.rawKey)).toBe('live');
    forwarder.restore();
    await until(async () => (await outcome(lost.rawKey)) === 'unknown');
    await directory.close();
  });
});
