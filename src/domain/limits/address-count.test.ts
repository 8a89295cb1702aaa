import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { createStatePlace } from './claims.ts';
import { createAddressCount } from './limits.ts';

function given(processes: number, requestsPerMinute = 600) {
  const clock = createManualClock();
  const log = createSilentLog();
  const real = createInProcessState({ clock });
  const steps = { reserve: 0, settle: 0 };
  const sharedState: SharedState = {
    ...real,
    reserve: (...words) => {
      steps.reserve += 1;
      return real.reserve(...words);
    },
    settle: (...words) => {
      steps.settle += 1;
      return real.settle(...words);
    },
  };
  const counts = Array.from({ length: processes }, () => {
    const place = createStatePlace({ sharedState, ownState: real, clock, log });
    return createAddressCount({ place, clock, requestsPerMinute });
  });
  const count = async (n: number, address = 'a') => (await counts[n % processes]?.(address))?.outcome;
  return { clock, steps, count, counts };
}

describe('G-39 requests of an address, counted ahead', () => {
  test('G-39 one process lets exactly the limit pass, one by one or all at once, and takes few steps for it', async () => {
    const one = given(1);
    for (let n = 0; n < 600; n += 1) expect(await one.count(0)).toBe('admitted');
    expect(await one.count(0)).toBe('refused');
    expect(one.steps.reserve).toBeLessThan(400);
    const all = given(1);
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => all.count(0)));
    expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(600);
  });

  test('G-39 several processes never let more than the limit pass, and together all of it', async () => {
    const { count } = given(4);
    let admitted = 0;
    for (let n = 0; n < 700; n += 1) if ((await count(n)) === 'admitted') admitted += 1;
    expect(admitted).toBe(600);
  });

  test('G-39 what one process does not hand out goes back, for the others', async () => {
    const { clock, steps, count } = given(2);
    for (let n = 0; n < 3; n += 1) await count(0);
    expect(steps.settle).toBe(0);
    await clock.advance(1_000);
    expect(steps.settle).toBe(1);
    let admitted = 3;
    for (let n = 0; n < 700; n += 1) if ((await count(1)) === 'admitted') admitted += 1;
    expect(admitted).toBe(600);
    expect(clock.pendingTimers()).toBeLessThanOrEqual(1);
  });

  test('G-39 nothing is handed out past the end of its minute, and each address counts for itself', async () => {
    const { clock, count } = given(1);
    for (let n = 0; n < 300; n += 1) await count(0);
    expect(await count(0, 'b')).toBe('admitted');
    await clock.advance(59_990);
    for (let n = 0; n < 5; n += 1) await count(0);
    await clock.advance(10);
    for (let n = 0; n < 600; n += 1) expect(await count(0)).toBe('admitted');
    expect(await count(0)).toBe('refused');
  });

  test('in steady use it answers at once', async () => {
    const { count, counts } = given(1);
    await count(0);
    await count(0);
    expect(counts[0]?.('a')).not.toBeInstanceOf(Promise);
  });
});
