import { describe, expect, test } from 'bun:test';
import { call, entered, FIVE_FAILURES, openBreakers } from '../../../test/doubles/breakers-under-test.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { describeRedis, useRedis } from '../../../test/setup/use-redis.ts';
import { createBreakers } from './breakers.ts';

const MODEL = 'models.example';

/** Two processes on one shared state and one clock. */
async function twoProcesses() {
  const first = await openBreakers();
  const one = first.breakers;
  const two = await createBreakers(first.parts);
  one.known(MODEL);
  two.known(MODEL);
  await first.clock.advance(0);
  const states = () => [one.states()[MODEL], two.states()[MODEL]];
  return { ...first, one, two, states };
}

/** Every step fails while `isUnavailable`, as with an unreachable server. */
async function twoOnAFailingState() {
  const outage = { isUnavailable: false };
  const opened = await twoProcesses();
  const steps = ['get', 'set', 'setIfAbsent', 'delete', 'publish'] as const;
  for (const name of steps) {
    const real = opened.sharedState[name] as (...given: unknown[]) => Promise<unknown>;
    opened.sharedState[name] = ((...given: unknown[]) =>
      outage.isUnavailable ? Promise.reject(new Error('away')) : real(...given)) as never;
  }
  return { ...opened, outage };
}

describe('A-14 processes that share state', () => {
  test('A-14 when one opens it, all reject; when one closes it, all admit', async () => {
    const { one, two, states, clock } = await twoProcesses();
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(0);
    expect(states()).toEqual(['open', 'open']);
    expect(two.enter(MODEL)).toEqual({ outcome: 'rejected', retryAfterMs: 60_000 });
    await clock.advance(60_000);
    expect(states()).toEqual(['half-open', 'half-open']);
    await call(two, MODEL, 'success');
    await clock.advance(0);
    expect(states()).toEqual(['closed', 'closed']);
  });

  test('A-14 failures in a row are counted across processes, and so is the success that ends them', async () => {
    const opened = await openBreakers({ processId: 'one' });
    const { clock, breakers: one } = opened;
    const two = await createBreakers({ ...opened.parts, processId: 'two' });
    one.known(MODEL);
    two.known(MODEL);
    await clock.advance(0);
    const counts = () => [one.failuresInARow(MODEL), two.failuresInARow(MODEL)];
    for (const breakers of [one, two, one, two]) {
      await call(breakers, MODEL, { failure: '503' });
      await clock.advance(0);
    }
    expect(counts()).toEqual([4, 4]);
    await call(two, MODEL, 'success');
    await clock.advance(0);
    expect(counts()).toEqual([0, 0]);
    for (const breakers of [one, two, one, two, one]) {
      await call(breakers, MODEL, { failure: '503' });
      await clock.advance(0);
    }
    expect([one.states()[MODEL], two.states()[MODEL]]).toEqual(['open', 'open']);
  });

  test('A-14 the count of one process alone never opens the breaker in another', async () => {
    const opened = await openBreakers({ processId: 'one' });
    const { clock, breakers: one } = opened;
    const two = await createBreakers({ ...opened.parts, processId: 'two', failures: 3 });
    two.known(MODEL);
    await call(one, MODEL, ...FIVE_FAILURES.slice(1));
    await clock.advance(0);
    expect([two.states()[MODEL], two.failuresInARow(MODEL)]).toEqual(['closed', 2]);
  });

  test('A-14 at most 20 failures a second are published, and a success only after a failure', async () => {
    const { clock, breakers, sharedState } = await openBreakers({ processId: 'one', failures: 1_000 });
    const published: string[] = [];
    await sharedState.subscribe(
      'breakers',
      (text) => void published.push(text),
      () => {},
    );
    await call(breakers, MODEL, 'success', 'success');
    await call(
      breakers,
      MODEL,
      ...Array.from({ length: 100 }, () => 'failure' as const),
      'success',
      'success',
    );
    await clock.advance(0);
    const results = published.map((text) => JSON.parse(text).result);
    expect(results).toEqual([...Array.from({ length: 20 }, () => 'failure'), 'success']);
  });

  test('A-15 only configured services are shown: others are removed, also where another process publishes them', async () => {
    const configured = new Set([MODEL, 'second.example']);
    const opened = await openBreakers({ services: () => configured });
    const { clock, breakers, parts } = opened;
    const elsewhere = await createBreakers({ ...parts, services: () => [MODEL, 'old.example'] });
    expect(breakers.states()).toEqual({ [MODEL]: 'closed', 'second.example': 'closed' });
    await call(elsewhere, 'old.example', ...FIVE_FAILURES);
    await call(breakers, MODEL, ...FIVE_FAILURES);
    await clock.advance(0);
    expect(breakers.states()).toEqual({ [MODEL]: 'open', 'second.example': 'closed' });
    configured.delete(MODEL);
    await clock.advance(1_000);
    expect([breakers.states(), breakers.troubleOf(MODEL)]).toEqual([{ 'second.example': 'closed' }, null]);
    // It is configured again, and still known to be open.
    configured.add(MODEL);
    breakers.states();
    await clock.advance(0);
    expect(breakers.states()[MODEL]).toBe('open');
    await Promise.all([breakers.close(), elsewhere.close()]);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('A-15 all processes, also later ones, have the last error and the next try of a breaker that one opened', async () => {
    const { one, two, clock, parts } = await twoProcesses();
    const beganAtMs = clock.now();
    expect(two.troubleOf(MODEL)).toEqual({ lastError: null, nextTryAtMs: null });
    await call(one, MODEL, ...FIVE_FAILURES.slice(1));
    await clock.advance(1_000);
    await call(one, MODEL, { failure: '503' });
    await clock.advance(500);
    const lastError = { reason: '503', atMs: beganAtMs + 1_000 };
    const later = await createBreakers(parts);
    later.known(MODEL);
    await clock.advance(0);
    expect(later.enter(MODEL)).toEqual({ outcome: 'rejected', retryAfterMs: 59_500 });
    for (const process of [one, two, later]) {
      expect(process.troubleOf(MODEL)).toEqual({ lastError, nextTryAtMs: beganAtMs + 61_000 });
    }
    await clock.advance(60_000);
    await call(two, MODEL, { failure: 'time-out' });
    await clock.advance(0);
    expect(one.troubleOf(MODEL)).toEqual(two.troubleOf(MODEL));
    expect(one.troubleOf(MODEL)?.lastError?.reason).toBe('time-out');
    await clock.advance(60_000);
    await call(one, MODEL, 'success');
    await clock.advance(0);
    expect(two.troubleOf(MODEL)).toMatchObject({ lastError: { reason: 'time-out' }, nextTryAtMs: null });
    expect(two.troubleOf('nobody.example')).toBeNull();
  });

  test('A-14 a process that died with the test holds it until the time-out, then another may test', async () => {
    const { one, two, clock } = await twoProcesses();
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(60_000);
    await entered(one, MODEL);
    // Its timers end with it, its claim does not.
    await one.close();
    expect(await two.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    await clock.advance(119_999);
    expect(await two.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    await clock.advance(500);
    expect(await two.enter(MODEL)).toMatchObject({ outcome: 'enter' });
  });

  test('A-14 a test released in one process is free for the other within a second', async () => {
    const { one, two, clock } = await twoProcesses();
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(60_000);
    const given = await entered(one, MODEL);
    expect(await two.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    given.report('ignored');
    await clock.advance(500);
    expect(await two.enter(MODEL)).toMatchObject({ outcome: 'enter' });
  });
});

describe('A-14 without shared state', () => {
  test('A-14 each process continues alone, makes its own tests, and logs it once', async () => {
    const { one, two, states, clock, outage, entries } = await twoOnAFailingState();
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(0);
    outage.isUnavailable = true;
    await clock.advance(60_000);
    const tests = await Promise.all([one.enter(MODEL), two.enter(MODEL), one.enter(MODEL), two.enter(MODEL)]);
    expect(tests.map(({ outcome }) => outcome)).toEqual(['enter', 'enter', 'rejected', 'rejected']);
    for (const entry of tests) if (entry.outcome === 'enter') entry.report('success');
    expect(states()).toEqual(['closed', 'closed']);
    const said = entries.filter(({ message }) => message.includes('decides alone'));
    expect(said).toHaveLength(2);
  });

  test('A-14 a decision made meanwhile reaches all processes within a second of its return', async () => {
    const { one, states, clock, outage } = await twoOnAFailingState();
    outage.isUnavailable = true;
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(5_000);
    expect(states()).toEqual(['open', 'closed']);
    outage.isUnavailable = false;
    await clock.advance(1_000);
    expect(states()).toEqual(['open', 'open']);
    await clock.advance(60_000);
    outage.isUnavailable = true;
    await call(one, MODEL, 'success');
    await clock.advance(5_000);
    expect(states()).toEqual(['closed', 'half-open']);
    outage.isUnavailable = false;
    await clock.advance(1_000);
    expect(states()).toEqual(['closed', 'closed']);
  });

  test('A-14 a lost message is recovered: at the gap, and by reads while open', async () => {
    const { one, states, clock, sharedState } = await twoProcesses();
    const { publish } = sharedState;
    sharedState.publish = async () => {};
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(0);
    expect(states()).toEqual(['open', 'closed']);
    sharedState.gap();
    await clock.advance(0);
    expect(states()).toEqual(['open', 'open']);
    await clock.advance(60_000);
    await call(one, MODEL, 'success');
    await clock.advance(1_000);
    expect(states()).toEqual(['closed', 'closed']);
    sharedState.publish = publish;
  });

  test('A-14 a process that publishes an outdated state receives the current one', async () => {
    const { one, clock, sharedState } = await twoProcesses();
    await call(one, MODEL, ...FIVE_FAILURES);
    await clock.advance(60_000);
    await call(one, MODEL, 'success');
    await clock.advance(0);
    const held = await sharedState.get(`breaker:${MODEL}`);
    const past = JSON.stringify({ name: MODEL, state: 'open', epoch: 5, untilMs: 9, toldAtMs: 1 });
    await sharedState.set(`breaker:${MODEL}`, past, 60_000);
    const heard: string[] = [];
    await sharedState.subscribe(
      'breakers',
      (text) => heard.push(text),
      () => {},
    );
    await sharedState.publish('breakers', past);
    await clock.advance(0);
    expect(await sharedState.get(`breaker:${MODEL}`)).toBe(held);
    expect(heard).toContain(held ?? '');
  });

  test('A-14 invalid data on the topic and in the store changes nothing', async () => {
    const { one, states, clock, sharedState } = await twoProcesses();
    const wrong = [
      '',
      '{}',
      'null',
      '{"name":"","state":"open"}',
      '{"name":"x","state":"ajar","epoch":1,"untilMs":1,"toldAtMs":1}',
    ];
    for (const text of wrong) {
      await sharedState.publish('breakers', text);
      await sharedState.set(`breaker:${MODEL}`, text, 60_000);
      sharedState.gap();
      await clock.advance(0);
    }
    expect(states()).toEqual(['closed', 'closed']);
    expect(await one.enter(MODEL)).toMatchObject({ outcome: 'enter' });
  });
});

/** Each process has its own connection and its own clock, which does not move by itself. */
describeRedis('A-14 breakers of two processes on Redis', () => {
  const redis = useRedis();

  async function openProcess(prefix: string) {
    const [clock, log] = [createManualClock(), createSilentLog()];
    const sharedState = await redis.open({ prefix, timeoutMs: 2_000 });
    const breakers = await createBreakers({ sharedState, clock, log });
    breakers.known(MODEL);
    return { clock, breakers, state: () => breakers.states()[MODEL] };
  }

  test('A-14 an opening is shared within a second, one test is made by both together, its result is shared', async () => {
    const prefix = redis.newPrefix();
    const [one, two] = [await openProcess(prefix), await openProcess(prefix)];
    await call(one.breakers, MODEL, ...FIVE_FAILURES);
    await until(() => two.state() === 'open');
    for (const { clock } of [one, two]) await clock.advance(60_000);
    const asked = Array.from({ length: 100 }, (_, at) => (at % 2 ? one : two).breakers.enter(MODEL));
    const trials = (await Promise.all(asked)).filter((entry) => entry.outcome === 'enter');
    expect(trials).toHaveLength(1);
    trials[0]?.report('success');
    await until(() => one.state() === 'closed' && two.state() === 'closed');
    for (const { breakers } of [one, two]) await breakers.close();
  });
});
