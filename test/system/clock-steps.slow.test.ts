import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../doubles/until.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { callMany, expectCharged, notWhole, type SeenCall } from './credit-clients.ts';
import { type CreditWorld, openCreditWorld } from './credit-world.ts';
import { type RunningProcess, startProcess } from './running-system.ts';

const missing = givenDatabase() === null || givenRedis() === null;
const CALLS = 20;
const HOUR_MS = 3_600_000;

describe.skipIf(missing)('G-33 a gateway’s clock is set while PostgreSQL is unavailable', () => {
  let world: CreditWorld;
  let gateway: RunningProcess;
  let url: string;
  let clockFile: string;
  const seen: SeenCall[] = [];

  beforeAll(async () => {
    world = await openCreditWorld();
    clockFile = join(world.dataDir, 'clock');
    setAhead(0);
    gateway = startProcess('../../faults/programs/service-with-moved-clock.ts', [], {
      ...world.environment,
      MOVED_CLOCK_FILE: clockFile,
      COMMIT_DEADLINE_MS: '500',
    });
    url = /http:\S+/.exec(await gateway.line('ready'))?.[0] ?? '';
    seen.push(...(await callMany(2, url, world.rawKey)));
  });
  afterAll(async () => {
    gateway?.signal('SIGKILL');
    await gateway?.exited;
    await world.close();
  });

  const setAhead = (ms: number) => writeFileSync(clockFile, String(ms));
  const health = async () =>
    (await (await fetch(new URL('/health', url))).json()) as {
      journal: { status: string; waiting: number; set_aside: number };
    };

  /** While they run, the clock is set; they end with the database away. */
  async function endAcrossStep(aheadMs: number): Promise<void> {
    let asked = 0;
    world.answerAfter(() => {
      asked += 1;
      return 500;
    });
    const running = callMany(CALLS, url, world.rawKey);
    await until(() => asked === CALLS);
    world.toDatabase.cut();
    setAhead(aheadMs);
    try {
      const calls = await running;
      seen.push(...calls);
      expect(notWhole(calls)).toEqual([]);
      expect((await health()).journal.waiting).toBe(CALLS);
    } finally {
      world.toDatabase.restore();
      setAhead(0);
    }
  }

  test.each([
    ['an hour back', -HOUR_MS],
    ['a hundred days ahead, more milliseconds than a duration has room for', 100 * 24 * HOUR_MS],
  ])('%s: every call is charged once when it is back, and none is set aside', async (_, aheadMs) => {
    await endAcrossStep(aheadMs);
    await until(async () => (await health()).journal.waiting === 0);
    expect((await health()).journal).toMatchObject({ status: 'up', set_aside: 0 });
    expect(await expectCharged(world, seen)).toBe(0);
    const wrong = 'select 1 from calls where duration_ms < 0 or first_byte_ms < 0';
    expect(await world.database.query(wrong)).toHaveLength(0);
  });
});
