import { describe, expect, test } from 'bun:test';
import {
  call,
  type Entered,
  entered,
  FIVE_FAILURES,
  openBreakers,
} from '../../../test/doubles/breakers-under-test.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { type Breakers, createBreakers } from './breakers.ts';

const MODEL = 'models.example';
const RULES = { failures: 3, cooldownMs: 1_000, trialTimeoutMs: 700 };

async function openedService() {
  const opened = await openBreakers();
  await call(opened.breakers, MODEL, ...FIVE_FAILURES);
  return { ...opened, state: () => opened.breakers.states()[MODEL] };
}

async function halfOpenService() {
  const opened = await openedService();
  await opened.clock.advance(60_000);
  return opened;
}

/** The rules once more, as plainly as they can be said: one number line, no timers, no promises. */
function createModel() {
  let phase: 'closed' | 'open' = 'closed';
  let inARow = 0;
  let openedAtMs = 0;
  let generation = 0;
  let trialFromMs: number | null = null;
  const open = (atMs: number) => {
    phase = 'open';
    openedAtMs = atMs;
    generation += 1;
    trialFromMs = null;
  };
  const model = {
    /** A test that was silent for too long has failed at the moment when it became too long. */
    passTime(nowMs: number): void {
      if (trialFromMs !== null && nowMs - trialFromMs >= RULES.trialTimeoutMs) {
        open(trialFromMs + RULES.trialTimeoutMs);
      }
    },
    state(nowMs: number): 'closed' | 'open' | 'half-open' {
      return phase === 'open' && nowMs - openedAtMs >= RULES.cooldownMs ? 'half-open' : phase;
    },
    enter(nowMs: number): { generation: number; isTrial: boolean } | null {
      if (phase === 'closed') return { generation, isTrial: false };
      if (model.state(nowMs) === 'open' || trialFromMs !== null) return null;
      trialFromMs = nowMs;
      return { generation, isTrial: true };
    },
    report(call: { generation: number; isTrial: boolean }, result: string, nowMs: number): void {
      if (call.generation !== generation) return;
      if (call.isTrial) {
        trialFromMs = null;
        if (result === 'failure') open(nowMs);
        if (result !== 'success') return;
        phase = 'closed';
        generation += 1;
        inARow = 0;
      } else {
        if (result === 'success') inARow = 0;
        if (result !== 'failure') return;
        inARow = (inARow + 1) % RULES.failures;
        if (inARow === 0) open(nowMs);
      }
    },
  };
  return model;
}

describe('closed', () => {
  test('A-14 the 5th failure in a row opens it, and the 6th call is rejected with the remaining time', async () => {
    const { breakers, clock, entries } = await openedService();
    expect(breakers.states()).toEqual({ [MODEL]: 'open' });
    expect(breakers.enter(MODEL)).toEqual({ outcome: 'rejected', retryAfterMs: 60_000 });
    await clock.advance(59_000);
    expect(breakers.enter(MODEL)).toEqual({ outcome: 'rejected', retryAfterMs: 1_000 });
    expect(entries.filter(({ level }) => level === 'warn')).toMatchObject([
      { context: { service: MODEL, cause: 'failures' } },
    ]);
  });

  test('A-14 while closed or open it answers at once, without a read of shared state', async () => {
    const { breakers, sharedState, clock } = await openBreakers();
    breakers.known(MODEL);
    await clock.advance(0);
    const steps: string[] = [];
    for (const name of ['get', 'set', 'setIfAbsent', 'publish'] as const) {
      sharedState[name] = (() => Promise.resolve(steps.push(name))) as never;
    }
    for (let calls = 0; calls < 100; calls += 1) {
      const entry = breakers.enter(MODEL);
      expect(entry).toMatchObject({ outcome: 'enter' });
      if ('report' in entry) entry.report('success');
    }
    expect(steps).toEqual([]);
    await call(breakers, MODEL, ...FIVE_FAILURES);
    await clock.advance(0);
    const stepsOfOpening = steps.length;
    for (let calls = 0; calls < 100; calls += 1) {
      expect(breakers.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    }
    expect(steps).toHaveLength(stepsOfOpening);
  });

  test('A-15 each service has its own breaker, known ones are reported before their first call', async () => {
    const { breakers } = await openBreakers();
    breakers.known('quiet.example');
    await call(breakers, MODEL, ...FIVE_FAILURES);
    await call(breakers, 'other.example', 'success');
    expect(breakers.states()).toEqual({
      'quiet.example': 'closed',
      [MODEL]: 'open',
      'other.example': 'closed',
    });
    breakers.forget(MODEL);
    expect(Object.keys(breakers.states())).toEqual(['quiet.example', 'other.example']);
  });
});

describe('open', () => {
  test('A-14 a clock that is set back by an hour does not keep it open for an hour', async () => {
    let backMs = 0;
    const { clock } = await openBreakers();
    const { breakers } = await openBreakers({ clock: { ...clock, now: () => clock.now() - backMs } });
    await call(breakers, MODEL, ...FIVE_FAILURES);
    backMs = 3_600_000;
    expect(breakers.enter(MODEL)).toEqual({ outcome: 'rejected', retryAfterMs: 60_000 });
    await clock.advance(60_000);
    expect(breakers.states()[MODEL]).toBe('half-open');
  });
});

describe('half-open', () => {
  test('A-14 of 100 calls at once exactly one goes through, and 99 are rejected at once', async () => {
    const { breakers, state } = await halfOpenService();
    const answers = Array.from({ length: 100 }, () => breakers.enter(MODEL));
    const atOnce = answers.filter((answer) => !(answer instanceof Promise));
    expect(atOnce).toHaveLength(99);
    expect(atOnce.every((answer) => 'outcome' in answer && answer.outcome === 'rejected')).toBe(true);
    const whole = await Promise.all(answers);
    expect(whole.filter(({ outcome }) => outcome === 'enter')).toHaveLength(1);
    expect(state()).toBe('half-open');
  });

  test('A-14 a test without a result fails at its time-out; its late result is ignored; another follows', async () => {
    const { breakers, clock, entries, state } = await halfOpenService();
    const stuck = await entered(breakers, MODEL);
    await clock.advance(119_999);
    expect(await breakers.enter(MODEL)).toMatchObject({ outcome: 'rejected' });
    expect(state()).toBe('half-open');
    await clock.advance(1);
    expect(state()).toBe('open');
    expect(entries.at(-1)).toMatchObject({ context: { cause: 'trial-timed-out' } });
    stuck.report('success');
    expect(state()).toBe('open');
    await clock.advance(60_000);
    await call(breakers, MODEL, 'success');
    expect(state()).toBe('closed');
    expect(entries.at(-1)).toMatchObject({ level: 'info', context: { cause: 'trial-succeeded' } });
  });

  test('A-14 nothing is left running after close', async () => {
    const { breakers, clock } = await halfOpenService();
    await entered(breakers, MODEL);
    await call(breakers, 'other.example', ...FIVE_FAILURES);
    await breakers.close();
    await clock.advance(0);
    expect(clock.pendingTimers()).toBe(0);
  });
});

test('A-14 whatever happens in whatever order, it does what a plain model of the rules does', async () => {
  const transitions = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = createSeededRandom(seed);
    const { breakers, clock } = await openBreakers(RULES);
    const model = createModel();
    const pending: { entry: Entered; call: { generation: number; isTrial: boolean } }[] = [];
    let before = 'closed';
    for (let step = 0; step < 200; step += 1) {
      const label = `seed ${seed}, step ${step}`;
      const dice = random.below(10);
      if (dice < 4) {
        const entry = await breakers.enter(MODEL);
        const call = model.enter(clock.now());
        expect(entry.outcome, label).toBe(call === null ? 'rejected' : 'enter');
        if (entry.outcome === 'enter' && call !== null) pending.push({ entry, call });
      } else if (dice < 8 && pending.length > 0) {
        const [ended] = pending.splice(random.below(pending.length), 1);
        const result = random.pick(['success', 'failure', 'failure', 'failure', 'ignored'] as const);
        ended?.entry.report(result);
        if (ended !== undefined) model.report(ended.call, result, clock.now());
      } else {
        await clock.advance(random.pick([1, 99, 350, 700, 1_000]));
        model.passTime(clock.now());
      }
      const state = model.state(clock.now());
      expect(breakers.states()[MODEL] ?? 'closed', label).toBe(state);
      if (state !== before) transitions.add(`${before} to ${state}`);
      before = state;
    }
    await breakers.close();
  }
  expect([...transitions].sort()).toEqual([
    'closed to open',
    'half-open to closed',
    'half-open to open',
    'open to half-open',
  ]);
});

test('A-14 over three processes there is never a second test under way, and in the end all agree', async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const random = createSeededRandom(seed);
    const opened = await openBreakers(RULES);
    const processes: Breakers[] = [opened.breakers];
    for (let more = 0; more < 2; more += 1) processes.push(await createBreakers(opened.parts));
    for (const one of processes) one.known(MODEL);
    const { clock } = opened;
    const running: { entry: Entered; isTrial: boolean; fromMs: number }[] = [];
    for (let step = 0; step < 150; step += 1) {
      await clock.advance(random.pick([0, 0, 1, 50, 500, 1_000]));
      const one = random.pick(processes);
      if (random.below(2) === 0) {
        const isTrial = one.states()[MODEL] === 'half-open';
        const asked = processes.map((each) => (isTrial ? each.enter(MODEL) : one.enter(MODEL)));
        const admitted = (await Promise.all(asked)).filter(({ outcome }) => outcome === 'enter') as Entered[];
        if (isTrial) expect(admitted.length, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(1);
        for (const entry of admitted) {
          const others = running.filter((each) => each.isTrial && clock.now() - each.fromMs < 700);
          if (isTrial) expect(others, `seed ${seed}, step ${step}`).toEqual([]);
          running.push({ entry, isTrial, fromMs: clock.now() });
        }
      } else if (running.length > 0) {
        const [ended] = running.splice(random.below(running.length), 1);
        ended?.entry.report(random.pick(['success', 'failure', 'failure', 'ignored'] as const));
        await clock.advance(0);
      }
    }
    await clock.advance(1_000);
    const states = new Set(processes.map((each) => each.states()[MODEL]));
    expect(states.size, `seed ${seed}`).toBe(1);
    for (const each of processes) await each.close();
  }
});
