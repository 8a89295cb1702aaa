import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { AliasTarget } from './aliases.ts';
import { createTargetRest } from './model-directory.ts';

const target = (id: string, weight = 1): AliasTarget => {
  return { id, baseUrl: `https://${id}.example`, model: 'm', apiKey: null, weight };
};
const THREE = [target('a'), target('b'), target('c')];

function restOf(targets: readonly AliasTarget[]) {
  const clock = createManualClock();
  const rest = createTargetRest({ clock });
  rest.keepOnly(new Set(targets.map(({ id }) => id)));
  const ids = (draw: number) =>
    rest
      .order(targets, draw)
      .map(({ id }) => id)
      .join('');
  const fail = (id: string, times: number) => {
    for (let time = 0; time < times; time += 1) rest.noteFailure(id);
  };
  return { clock, rest, ids, fail };
}

describe('the order of targets (G-15)', () => {
  test('the first is drawn, the rest follow in their order', () => {
    const { ids } = restOf(THREE);
    expect([0, 0.32, 0.34, 0.66, 0.67, 0.999999].map(ids)).toEqual([
      'abc',
      'abc',
      'bac',
      'bac',
      'cab',
      'cab',
    ]);
  });

  test('draws go by weight', () => {
    const { ids } = restOf([target('a', 6), target('b', 0.5), target('c', 3.5)]);
    const firsts = Array.from({ length: 1_000 }, (_, n) => ids(n / 1_000)[0]);
    const count = (id: string) => firsts.filter((first) => first === id).length;
    expect([count('a'), count('b'), count('c')]).toEqual([600, 50, 350]);
  });

  test('one target, or none, needs no draw', () => {
    expect(restOf([target('a')]).ids(0.9)).toBe('a');
    expect(restOf([]).ids(0.9)).toBe('');
  });
});

describe('resting', () => {
  test('the fifth failure in a row puts a target last for 10 seconds', async () => {
    const { clock, ids, fail } = restOf(THREE);
    fail('a', 4);
    expect(ids(0)).toBe('abc');
    fail('a', 1);
    expect([ids(0), ids(0.4), ids(0.6)]).toEqual(['bca', 'bca', 'cba']);
    await clock.advance(9_999);
    expect(ids(0)).toBe('bca');
    await clock.advance(1);
    expect(ids(0)).toBe('abc');
  });

  test('after its rest one more failure is enough, one answer ends it', async () => {
    const { clock, rest, ids, fail } = restOf(THREE);
    fail('a', 5);
    await clock.advance(10_000);
    fail('a', 1);
    expect(ids(0)).toBe('bca');
    rest.noteSuccess('a');
    expect(ids(0)).toBe('abc');
    fail('a', 4);
    rest.noteSuccess('a');
    fail('a', 4);
    expect(ids(0)).toBe('abc');
  });

  test('where all rest, all are tried as ever', () => {
    const { ids, fail } = restOf(THREE);
    for (const id of ['a', 'b', 'c']) fail(id, 5);
    expect(ids(0.4)).toBe('bac');
  });

  test('what is known of a target goes with it', () => {
    const { rest, ids, fail } = restOf(THREE);
    fail('a', 5);
    rest.keepOnly(new Set(['b', 'c']));
    fail('a', 5);
    rest.keepOnly(new Set(['a', 'b', 'c']));
    expect(ids(0)).toBe('abc');
  });
});
