import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS, type RoutingStrategy } from '../aliases.ts';
import { fallbacksOf } from './fallbacks.ts';
import { createTargetFlights } from './target-flights.ts';
import { createTargetLatency } from './target-latency.ts';
import { createTargetOrder } from './target-order.ts';

const target = (id: string, weight = 1): AliasTarget => ({
  ...{ id, baseUrl: `https://${id}.example`, model: 'm', apiKey: null, weight },
});

const PLAIN = { retries: 0, retryStatuses: [], fallback: null, hedgeMs: null };

function open(targets: readonly AliasTarget[], strategy: RoutingStrategy, isStream = false) {
  const clock = createManualClock();
  const coolUntil = new Map<string, number>();
  const cooling = { isEmpty: () => coolUntil.size === 0, untilMs: (id: string) => coolUntil.get(id) ?? 0 };
  const latency = createTargetLatency({ clock });
  const all = createTargetOrder({ clock, cooling, latency });
  const ids = new Set(targets.map(({ id }) => id));
  for (const part of [all, latency]) part.keepOnly(ids);
  const order = (draw: number) =>
    all
      .order({ targets, routing: { ...PLAIN, strategy } }, draw, isStream)
      .map(({ id }) => id)
      .join('');
  const fail = (id: string, times: number) => {
    for (let time = 0; time < times; time += 1) all.noteFailure(id);
  };
  const cool = (id: string, forMs: number) => void coolUntil.set(id, clock.now() + forMs);
  return { clock, latency, order, all, fail, cool };
}

const THREE = [target('a'), target('b'), target('c')];

describe('the order of targets', () => {
  test('in order: as listed, whatever the draw, those cooling down last', () => {
    const { order, fail } = open([target('a', 1), target('b', 1_000), target('c', 1)], 'order');
    for (const draw of [0, 0.5, 0.999]) expect(order(draw)).toBe('abc');
    fail('a', 5);
    expect(order(0.5)).toBe('bca');
  });

  test('by weight: the shares of the calls are those of the weights', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = createSeededRandom(seed);
      const targets = Array.from({ length: 2 + random.below(5) }, (_, at) =>
        target(String(at), 1 + random.below(20)),
      );
      const { order } = open(targets, 'weight');
      const calls = 5_000;
      const first = new Map<string, number>();
      for (let call = 0; call < calls; call += 1) {
        const [id = ''] = order(random.below(2 ** 24) / 2 ** 24);
        first.set(id, (first.get(id) ?? 0) + 1);
      }
      const sum = targets.reduce((total, { weight }) => total + weight, 0);
      const chiSquare = targets.reduce((total, { id, weight }) => {
        const expected = (calls * weight) / sum;
        return total + ((first.get(id) ?? 0) - expected) ** 2 / expected;
      }, 0);
      // One in 100,000 for five degrees of freedom, which is the most that six targets have.
      expect(chiSquare).toBeLessThan(30.9);
    }
  });
});

describe('cooling down', () => {
  test('the fifth failure in a row puts a target last for 10 seconds', async () => {
    const { clock, order, fail } = open(THREE, 'weight');
    fail('a', 4);
    expect(order(0)).toBe('abc');
    fail('a', 1);
    expect([order(0), order(0.4), order(0.6)]).toEqual(['bca', 'bca', 'cba']);
    await clock.advance(9_999);
    expect(order(0)).toBe('bca');
    await clock.advance(1);
    expect(order(0)).toBe('abc');
  });

  test('after its cool-down one more failure is enough, one answer ends it', async () => {
    const { clock, all, order, fail } = open(THREE, 'weight');
    fail('a', 5);
    await clock.advance(10_000);
    fail('a', 1);
    expect(order(0)).toBe('bca');
    all.noteSuccess('a');
    expect(order(0)).toBe('abc');
    fail('a', 4);
    all.noteSuccess('a');
    fail('a', 4);
    expect(order(0)).toBe('abc');
  });

  test('when all are cooling down, all are tried as usual', () => {
    const { order, fail } = open(THREE, 'weight');
    for (const id of ['a', 'b', 'c']) fail(id, 5);
    expect(order(0.4)).toBe('bac');
  });

  test('G-15 targets that are cooling down come last, the one that is free first before the others', async () => {
    const { clock, order, fail, cool } = open([...THREE, target('d')], 'weight');
    cool('a', 30_000);
    cool('b', 5_000);
    fail('c', 5);
    expect(order(0)).toBe('dbca');
    await clock.advance(5_000);
    expect([order(0), order(0.6)]).toEqual(['bdca', 'dbca']);
    await clock.advance(25_000);
    expect(order(0)).toBe('abcd');
  });

  test('the state of a removed target is removed', () => {
    const { all, order, fail } = open(THREE, 'weight');
    fail('a', 5);
    all.keepOnly(new Set(['b', 'c']));
    all.keepOnly(new Set(['a', 'b', 'c']));
    expect(order(0)).toBe('abc');
  });
});

describe('by latency', () => {
  const CALM = 0.5;

  test('each target is measured once, and then the fastest gets the calls', () => {
    const { order, latency } = open(THREE, 'latency');
    const explored = [order(CALM), order(CALM), order(CALM)].map(([first]) => first);
    expect(explored.sort()).toEqual(['a', 'b', 'c']);
    for (const [id, ms] of [
      ['a', 300],
      ['b', 100],
      ['c', 200],
    ] as const) {
      latency.note(id, false, ms);
    }
    for (let call = 0; call < 10; call += 1) expect(order(CALM)).toBe('bca');
  });

  test('a small share of the calls goes to the others, and each of them gets its part', () => {
    const { order, latency } = open(THREE, 'latency');
    for (const [at, { id }] of THREE.entries()) latency.note(id, false, 100 * (at + 1));
    const random = createSeededRandom(7);
    const first = new Map<string, number>();
    for (let call = 0; call < 20_000; call += 1) {
      const [id = ''] = order(random.below(2 ** 24) / 2 ** 24);
      first.set(id, (first.get(id) ?? 0) + 1);
    }
    expect(first.get('a')).toBeGreaterThan(18_700);
    for (const id of ['b', 'c']) expect(first.get(id)).toBeWithin(400, 600);
  });

  test('a slow target is measured again after some time, by one call, and is used again when it is fast', async () => {
    const { order, latency, clock } = open([target('a'), target('b')], 'latency');
    latency.note('a', false, 100);
    latency.note('b', false, 200);
    await clock.advance(30_000);
    latency.note('a', false, 100);
    expect(order(CALM)).toBe('ab');
    // After a minute a measure counts half for the comparison.
    await clock.advance(31_000);
    latency.note('a', false, 100);
    expect([order(CALM), order(CALM)]).toEqual(['ba', 'ab']);
    latency.note('b', false, 20);
    expect(order(CALM)).toBe('ba');
  });

  test('a call that was given up counts by how long it had waited; streams are measured apart', () => {
    const { order, latency } = open([target('a'), target('b')], 'latency');
    const streams = open([target('a'), target('b')], 'latency', true);
    for (const one of [latency, streams.latency]) {
      one.note('a', false, 100);
      one.note('b', false, 150);
      one.noteAtLeast('a', false, 50);
    }
    expect(order(CALM)).toBe('ab');
    for (let time = 0; time < 5; time += 1) latency.noteAtLeast('a', false, 5_000);
    expect(order(CALM)).toBe('ba');
    // Nothing is known of streams: both are explored.
    expect([streams.order(CALM)[0], streams.order(CALM)[0]].sort()).toEqual(['a', 'b']);
  });
});

describe('targets with a limit of calls in flight', () => {
  test('none is ever above its limit, and each place that was left is taken again', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = createSeededRandom(seed);
      const flights = createTargetFlights();
      const targets = [1, 2, 5].map((maxInFlight) => ({ ...target(String(maxInFlight)), maxInFlight }));
      const running = new Map<string, number>();
      for (let step = 0; step < 2_000; step += 1) {
        const one = targets[random.below(targets.length)] as (typeof targets)[number];
        const before = running.get(one.id) ?? 0;
        if (random.below(2) === 0 && before > 0) {
          flights.leave(one);
          running.set(one.id, before - 1);
        } else {
          const isEntered = flights.enter(one);
          expect(isEntered).toBe(before < one.maxInFlight);
          if (isEntered) running.set(one.id, before + 1);
        }
        expect(running.get(one.id) ?? 0).toBeLessThanOrEqual(one.maxInFlight);
      }
    }
  });
});

describe('the fallbacks of an alias', () => {
  const alias = (name: string, fallback: string | null, kind: Alias['kind'] = 'chat'): Alias => ({
    ...{ alias: name, kind, targets: [], prices: [], ...DEFAULT_BOUNDS.chat },
    routing: { strategy: 'weight', retries: 0, retryStatuses: [], fallback, hedgeMs: null },
  });
  const chain = (...all: readonly Alias[]) => {
    const models = { find: (name: string) => all.find((one) => one.alias === name) ?? null };
    return fallbacksOf(models, all[0] as Alias).map((one) => one.alias);
  };

  test('are followed to the end of the chain, at most eight, and no circle twice', () => {
    expect(chain(alias('a', null))).toEqual([]);
    expect(chain(alias('a', 'b'), alias('b', 'c'), alias('c', null))).toEqual(['b', 'c']);
    expect(chain(alias('a', 'b'), alias('b', 'a'))).toEqual(['b']);
    expect(chain(alias('a', 'a'))).toEqual([]);
    const long = Array.from({ length: 20 }, (_, at) => alias(`a${at}`, `a${at + 1}`));
    expect(chain(...long)).toHaveLength(8);
  });

  test('one that is missing or of another kind ends the list', () => {
    expect(chain(alias('a', 'gone'))).toEqual([]);
    expect(chain(alias('a', 'b'), alias('b', null, 'embed'))).toEqual([]);
  });
});
