import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { until } from '../doubles/until.ts';
import { describeServers } from '../setup/use-redis.ts';
import { callMany, callOnce, expectCharged, type SeenCall } from './credit-clients.ts';
import { type CreditWorld, openCreditWorld, type RunningGateway } from './credit-world.ts';

const METRICS_TOKEN = 'a-metrics-token-of-some-length';
const NO_CONNECTION = 'The gateway cannot open another connection right now. Retry shortly.';
/** More than the descriptors that are left to the process. */
const CALLS = 40;

const isLinux = process.platform === 'linux' && Bun.which('prlimit') !== null;

(isLinux ? describeServers : describeServers.skip)('a gateway process without descriptors', () => {
  let world: CreditWorld;
  let short: RunningGateway;
  let other: RunningGateway;
  const seen: SeenCall[] = [];

  beforeAll(async () => {
    world = await openCreditWorld();
    short = await world.startGateway({ METRICS_TOKEN });
    other = await world.startGateway();
  });
  afterAll(async () => {
    for (const gateway of [short, other]) gateway.signal('SIGKILL');
    await Promise.all([short.exited, other.exited]);
    await world.close();
  });

  /** The soft limit alone, so that it can be raised again. */
  function leave(descriptors: number): void {
    const open = readdirSync(`/proc/${short.pid}/fd`).length;
    const limit = Bun.spawnSync([
      'prlimit',
      `--pid=${short.pid}`,
      `--nofile=${Math.min(open + descriptors, 4_096)}:`,
    ]);
    expect(limit.exitCode).toBe(0);
  }
  const call = async (gateway: RunningGateway) => {
    const answered = await callOnce(gateway.url, world.rawKey);
    seen.push(answered);
    return answered.status;
  };

  test('refuses what it cannot forward, answers all that wait, and takes nothing from the others', async () => {
    expect([await call(short), await call(other)]).toEqual([200, 200]);
    // Long enough that the calls are there at once.
    world.answerAfter(() => 500);
    leave(12);
    const answers = await callMany(CALLS, short.url, world.rawKey, (one) => seen.push(one));
    const refused = answers.filter(({ status }) => status !== 200);
    // More than open a breaker.
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(refused.length).toBeLessThan(CALLS);
    for (const { status, reason } of refused) {
      expect([status, JSON.parse(reason ?? '').error.message]).toEqual([503, NO_CONNECTION]);
    }
    expect([await call(other), await call(short)]).toEqual([200, 200]);
    leave(4_096);
    await until(async () => (await call(short)) === 200);
    expect(
      short.output().match(/this process has no free file descriptors[^"]*raise its limit/g),
    ).toHaveLength(1);
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const metrics = await (await fetch(new URL('/metrics', short.url), { headers })).text();
    expect(metrics).toMatch(/^turnpike_local_faults_total\{lack="descriptors"\} [1-9]/m);
    expect(metrics).toMatch(/^turnpike_circuit_breaker_state\{service="127[^"]*"\} 0$/m);
    expect(await expectCharged(world, seen)).toBe(0);
  });
});
