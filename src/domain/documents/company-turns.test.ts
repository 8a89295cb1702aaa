import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createCompanyTurns } from './company-turns.ts';

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function open(bounds: Partial<Parameters<typeof createCompanyTurns>[1]> = {}) {
  const clock = createManualClock();
  const turns = createCompanyTurns(clock, {
    ...{ places: 2, perCompany: 1, maxWaiting: 8, waitMs: 30_000, ...bounds },
  });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const outcomes = new Map<string, string>();
  /** Work that goes on until it is ended. */
  function run(name: string, options: { waitMs?: number; signal?: AbortSignal } = {}): void {
    const [company = ''] = name.split(' ');
    const work = () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    };
    void turns.run(company, work, options).then(({ outcome }) => outcomes.set(name, outcome));
  }
  async function end(name: string, afterMs = 0): Promise<void> {
    await clock.advance(afterMs);
    ends.get(name)?.();
    await settled();
  }
  return { clock, turns, begun, outcomes, run, end };
}

describe('companies take turns', () => {
  test('no company has all places: another begins at once, however many wait', async () => {
    const { begun, run } = open();
    for (const n of [1, 2, 3, 4]) run(`flood ${n}`);
    run('late 1');
    await settled();
    expect(begun).toEqual(['flood 1', 'late 1']);
  });

  test('the company that has used the least time is next, and failed runs count too', async () => {
    const { begun, run, end } = open({ places: 1 });
    run('slow 1');
    run('slow 2');
    run('quick 1');
    run('quick 2');
    run('quick 3');
    await end('slow 1', 20_000);
    for (const n of [1, 2, 3]) await end(`quick ${n}`, 50);
    expect(begun).toEqual(['slow 1', 'quick 1', 'quick 2', 'quick 3', 'slow 2']);
  });

  test('being idle saves nothing up, and work that takes no time alternates', async () => {
    const { begun, run, end } = open({ places: 1 });
    run('busy 1');
    await end('busy 1', 60_000);
    run('busy 2');
    for (const name of ['idle 1', 'idle 2', 'busy 3', 'busy 4']) run(name);
    for (const name of ['busy 2', 'idle 1', 'busy 3', 'idle 2', 'busy 4']) await end(name);
    expect(begun).toEqual(['busy 1', 'busy 2', 'idle 1', 'busy 3', 'idle 2', 'busy 4']);
  });

  test('after failures a company pauses, twice as long each time, and success ends that', async () => {
    const { clock, turns, begun, run, end } = open();
    run('bomb 1');
    turns.pauseAfterFailure('bomb', 20_000);
    await end('bomb 1');
    run('bomb 2', { waitMs: 600_000 });
    await clock.advance(19_999);
    expect(begun).toEqual(['bomb 1']);
    await clock.advance(1);
    expect(begun).toEqual(['bomb 1', 'bomb 2']);
    turns.pauseAfterFailure('bomb', 20_000);
    await end('bomb 2');
    run('bomb 3', { waitMs: 600_000 });
    await clock.advance(39_999);
    expect(begun).toHaveLength(2);
    await clock.advance(1);
    expect(begun).toHaveLength(3);
    turns.succeeded('bomb');
    turns.pauseAfterFailure('bomb', 1_000);
    await end('bomb 3');
    run('bomb 4');
    await clock.advance(1_000);
    expect(begun).toHaveLength(4);
  });

  test('where too many wait the newest of the company with the most is refused, and no other', async () => {
    const { begun, outcomes, run, end } = open({ places: 1, maxWaiting: 3 });
    for (const n of [1, 2, 3, 4, 5]) run(`flood ${n}`);
    run('late 1');
    await settled();
    expect([...outcomes]).toEqual([
      ['flood 5', 'busy'],
      ['flood 4', 'busy'],
    ]);
    await end('flood 1', 100);
    expect(begun).toEqual(['flood 1', 'late 1']);
  });

  test('waiting ends with the time for it, with the caller’s signal, and when it is closed', async () => {
    const { clock, turns, outcomes, run, end } = open({ places: 1, maxWaiting: 10 });
    const leaving = new AbortController();
    run('a 1');
    run('b 1');
    run('c 1', { waitMs: 60_000 });
    run('d 1', { signal: leaving.signal });
    leaving.abort();
    await settled();
    expect([...outcomes]).toEqual([['d 1', 'busy']]);
    await clock.advance(30_000);
    expect(outcomes.get('b 1')).toBe('busy');
    turns.close();
    await settled();
    expect(outcomes.get('c 1')).toBe('busy');
    await end('a 1');
    expect(outcomes.get('a 1')).toBe('done');
    expect(clock.pendingTimers()).toBe(0);
  });
});
