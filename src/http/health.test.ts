import { expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { createDependencyChecks } from './health.ts';

const never = () => new Promise<void>(() => {});

test('all dependencies are checked at once, and one that hangs is down after its own time-out', async () => {
  const clock = createManualClock();
  const checks = createDependencyChecks(
    [
      { name: 'good', timeoutMs: 100, check: async () => {} },
      { name: 'bad', timeoutMs: 100, check: async () => Promise.reject(new Error('away')) },
      { name: 'hanging', timeoutMs: 500, check: never },
    ],
    clock,
  );
  const asked = checks();
  await clock.advance(500);
  expect(await asked).toEqual({
    good: { status: 'up', latencyMs: 0 },
    bad: { status: 'down', latencyMs: 0 },
    hanging: { status: 'down', latencyMs: 500 },
  });
});

test('a result is cached for a moment, and the next check is fresh', async () => {
  const clock = createManualClock();
  let asked = 0;
  let isUp = true;
  const check = async () => {
    asked += 1;
    if (!isUp) throw new Error('away');
  };
  const checks = createDependencyChecks([{ name: 'it', timeoutMs: 100, check }], clock);
  await Promise.all([checks(), checks(), checks()]);
  isUp = false;
  await clock.advance(999);
  expect((await checks()).it?.status).toBe('up');
  expect(asked).toBe(1);
  await clock.advance(1);
  expect((await checks()).it?.status).toBe('down');
  expect(asked).toBe(2);
});

test('a check that hangs is not started again meanwhile', async () => {
  const clock = createManualClock();
  let asked = 0;
  const check = () => {
    asked += 1;
    return never();
  };
  const checks = createDependencyChecks([{ name: 'it', timeoutMs: 100, check }], clock);
  for (let look = 0; look < 5; look += 1) {
    const states = checks();
    await clock.advance(2_000);
    expect((await states).it?.status).toBe('down');
  }
  expect(asked).toBe(1);
});

test('a state that needs an operator is degraded, with its figures', async () => {
  const clock = createManualClock();
  const find = async () => ({ isWell: false, figures: { set_aside: 2 } });
  const checks = createDependencyChecks([{ name: 'it', timeoutMs: 100, find }], clock);
  expect(await checks()).toEqual({ it: { status: 'degraded', latencyMs: 0, figures: { set_aside: 2 } } });
});

test('a result from before the clock was set back is not used', async () => {
  const clock = createManualClock(3_600_000);
  let backMs = 0;
  let asked = 0;
  const check = async () => {
    asked += 1;
  };
  const moved = { ...clock, now: () => clock.now() - backMs };
  const checks = createDependencyChecks([{ name: 'it', timeoutMs: 100, check }], moved);
  await checks();
  backMs = 3_600_000;
  expect(await checks()).toEqual({ it: { status: 'up', latencyMs: 0 } });
  expect(asked).toBe(2);
});
