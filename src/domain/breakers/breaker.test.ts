import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import { type BreakerParts, createBreaker } from './breaker.ts';

const RULES = { failures: 5, cooldownMs: 60_000, trialTimeoutMs: 120_000 };

function openBreaker(own: Partial<BreakerParts> = {}, clock: Clock = createManualClock()) {
  const parts = { clock, rules: RULES, releaseTrial() {}, onChange() {}, ...own };
  const breaker = createBreaker({ claimTrial: async () => 'granted', ...parts });
  return { breaker, nowMs: clock.now() };
}

describe('A-14 a breaker', () => {
  test('A-14 is half-open by the clock, also where its timer runs late', async () => {
    const clock = createManualClock();
    const { breaker, nowMs } = openBreaker({}, { ...clock, after: () => ({ cancel() {} }) });
    breaker.adopt({ state: 'open', epoch: nowMs, untilMs: nowMs + 60_000 });
    await clock.advance(60_000);
    expect(breaker.state()).toBe('half-open');
  });

  test('A-14 that another process closed while its test was being claimed admits the call', async () => {
    const answer = Promise.withResolvers<'taken'>();
    const { breaker, nowMs } = openBreaker({ claimTrial: () => answer.promise });
    breaker.adopt({ state: 'open', epoch: nowMs - 60_000, untilMs: nowMs });
    const asked = breaker.enter();
    breaker.adopt({ state: 'closed', epoch: nowMs, untilMs: 0 });
    answer.resolve('taken');
    expect(await asked).toMatchObject({ outcome: 'enter' });
  });

  test('A-14 that opened again while its test was being claimed admits nothing, though the claim was granted', async () => {
    const answer = Promise.withResolvers<'granted'>();
    const { breaker, nowMs } = openBreaker({ claimTrial: () => answer.promise });
    breaker.adopt({ state: 'open', epoch: nowMs - 60_000, untilMs: nowMs });
    const asked = breaker.enter();
    breaker.adopt({ state: 'open', epoch: nowMs, untilMs: nowMs + 60_000 });
    answer.resolve('granted');
    expect(await asked).toEqual({ outcome: 'rejected', retryAfterMs: 60_000 });
  });

  test('A-14 tries to claim a test that another process holds at most twice a second', async () => {
    const clock = createManualClock();
    let questions = 0;
    const claimTrial = async () => {
      questions += 1;
      return 'taken' as const;
    };
    const { breaker, nowMs } = openBreaker({ claimTrial }, clock);
    breaker.adopt({ state: 'open', epoch: nowMs - 60_000, untilMs: nowMs });
    for (let step = 0; step < 100; step += 1) {
      expect(await breaker.enter()).toMatchObject({ outcome: 'rejected' });
      await clock.advance(20);
    }
    expect(questions).toBe(4);
  });
});

describe('A-14 an answer that breaks off after its status', () => {
  async function enterClosed(breaker: ReturnType<typeof createBreaker>) {
    const entry = await breaker.enter();
    if (entry.outcome !== 'enter') throw new Error('it is not closed');
    return entry;
  }

  test('A-14 is a failure like any other: five of them in a row open the breaker', async () => {
    const { breaker } = openBreaker();
    for (const failures of [1, 2, 3, 4]) {
      const entry = await enterClosed(breaker);
      entry.report('success');
      entry.report({ failure: 'network' });
      entry.report({ failure: 'network' });
      expect(breaker.failuresInARow()).toBe(failures);
    }
    (await enterClosed(breaker)).report({ failure: '503' });
    expect(breaker.state()).toBe('open');
  });

  test('A-14 reverts only its own success, and not one of another call since', async () => {
    const { breaker } = openBreaker();
    for (const _ of [1, 2, 3, 4]) (await enterClosed(breaker)).report('failure');
    const [broken, whole] = [await enterClosed(breaker), await enterClosed(breaker)];
    broken.report('success');
    whole.report('success');
    broken.report('failure');
    expect([breaker.state(), breaker.failuresInARow()]).toEqual(['closed', 1]);
    const later = await enterClosed(breaker);
    later.report('success');
    later.report('ignored');
    later.report('failure');
    expect(breaker.failuresInARow()).toBe(0);
  });
});

describe('A-14 of two states of a service', () => {
  test('A-14 the later one applies, and in one epoch the open one', () => {
    const { breaker, nowMs } = openBreaker();
    const untilMs = nowMs + 60_000;
    expect(breaker.adopt({ state: 'closed', epoch: 7, untilMs: 0 })).toBe('adopted');
    expect(breaker.adopt({ state: 'open', epoch: 6, untilMs })).toBe('outdated');
    expect(breaker.adopt({ state: 'closed', epoch: 7, untilMs: 0 })).toBe('known');
    expect(breaker.state()).toBe('closed');
    expect(breaker.adopt({ state: 'open', epoch: 7, untilMs })).toBe('adopted');
    expect(breaker.adopt({ state: 'closed', epoch: 7, untilMs: 0 })).toBe('outdated');
    expect(breaker.state()).toBe('open');
  });

  test('A-14 one from a clock that is a day ahead costs at most one cool-down', () => {
    const { breaker, nowMs } = openBreaker();
    breaker.adopt({ state: 'open', epoch: nowMs + 86_400_000, untilMs: nowMs + 86_460_000 });
    expect(breaker.view().untilMs).toBe(nowMs + 60_000);
  });

  test('A-14 a decision made here is later than every state known here', async () => {
    const { breaker, nowMs } = openBreaker();
    const aheadMs = nowMs + 86_400_000;
    breaker.adopt({ state: 'closed', epoch: aheadMs, untilMs: 0 });
    for (let calls = 0; calls < 5; calls += 1) {
      const entry = await breaker.enter();
      if (entry.outcome === 'enter') entry.report('failure');
    }
    expect(breaker.view()).toEqual({ state: 'open', epoch: aheadMs + 1, untilMs: nowMs + 60_000 });
  });
});
