import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { call, entered, FIVE_FAILURES } from '../../../test/doubles/breakers-under-test.ts';
import { type Forwarder, startForwarder } from '../../../test/doubles/forwarder.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { givenRedis } from '../../../test/services/given.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { createBreakers } from './breakers.ts';

const server = givenRedis();
const MODEL = 'models.example';

/** Each process has its own connection and its own clock, which stands until it is moved. */
describe.skipIf(server === null)('A-14 breakers of two processes on Redis', () => {
  let forwarder: Forwarder;
  const states: SharedState[] = [];
  const direct = new URL(server ?? 'redis://127.0.0.1');
  const behindForwarder = new URL(direct);
  beforeAll(() => {
    forwarder = startForwarder(Number(direct.port || 6379));
    behindForwarder.hostname = '127.0.0.1';
    behindForwarder.port = String(forwarder.port);
  });
  afterAll(async () => {
    await Promise.all(states.map((state) => state.close()));
    forwarder?.close();
  });

  async function openProcess(url: URL, prefix: string) {
    const [clock, log] = [createManualClock(), createSilentLog()];
    const sharedState = await openRedisState({ url: url.href, log, prefix, timeoutMs: 2_000 });
    states.push(sharedState);
    const breakers = await createBreakers({ sharedState, clock, log });
    breakers.known(MODEL);
    return { clock, breakers, state: () => breakers.states()[MODEL] };
  }

  async function openTwo(name: string) {
    const prefix = `breakers-${process.pid}-${name}`;
    return [await openProcess(behindForwarder, prefix), await openProcess(direct, prefix)] as const;
  }

  test('A-14 an opening is shared within a second, one test goes out over both, its result is shared', async () => {
    const [one, two] = await openTwo('shared');
    await call(one.breakers, MODEL, ...FIVE_FAILURES);
    await until(() => two.state() === 'open', 1_000);
    for (const { clock } of [one, two]) await clock.advance(60_000);
    const asked = Array.from({ length: 100 }, (_, at) => (at % 2 ? one : two).breakers.enter(MODEL));
    const trials = (await Promise.all(asked)).filter((entry) => entry.outcome === 'enter');
    expect(trials).toHaveLength(1);
    trials[0]?.report('success');
    await until(() => one.state() === 'closed' && two.state() === 'closed', 1_000);
    for (const { breakers } of [one, two]) await breakers.close();
  });

  test('A-14 a failed test opens both anew, and the new epoch has a test of its own', async () => {
    const [one, two] = await openTwo('anew');
    await call(two.breakers, MODEL, ...FIVE_FAILURES);
    await until(() => one.state() === 'open', 1_000);
    for (const { clock } of [one, two]) await clock.advance(60_000);
    const trial = await entered(one.breakers, MODEL);
    expect(await two.breakers.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    trial.report('failure');
    await until(() => two.state() === 'open', 1_000);
    for (const { clock } of [one, two]) await clock.advance(60_000);
    (await entered(two.breakers, MODEL)).report('success');
    await until(() => one.state() === 'closed', 1_000);
    for (const { breakers } of [one, two]) await breakers.close();
  });

  test('A-14 cut off, each decides alone; what changed meanwhile is seen after the gap', async () => {
    const [one, two] = await openTwo('alone');
    forwarder.cut();
    await call(two.breakers, MODEL, ...FIVE_FAILURES);
    await call(one.breakers, MODEL, 'success');
    expect([one.state(), two.state()]).toEqual(['closed', 'open']);
    forwarder.restore();
    await until(() => one.state() === 'open');
    for (const { breakers } of [one, two]) await breakers.close();
  });
});
