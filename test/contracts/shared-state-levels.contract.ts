import { describe, expect, test } from 'bun:test';
import type { Claim } from '../../src/ports/shared-state.ts';
import type { SharedStateUnderTest } from './shared-state.contract.ts';

const HOUR = 3_600_000;
const SLACK = 60_000;

/** What levels guarantee that are read again or lost, on one adapter. */
export function levelsContract(
  name: string,
  open: () => Promise<SharedStateUnderTest>,
  { isCluster = false } = {},
): void {
  const level = (value: number, version: number) =>
    ({ kind: 'level', name: 'balance', value, version, ttlMs: 24 * HOUR, replaces: null }) as const;
  const room: Claim = {
    ...{ kind: 'held', name: 'hold', entry: 'a', amount: 1, ttlMs: HOUR, rule: 'room' },
    limit: { level: 'balance', maxAgeMs: HOUR },
  };

  async function given() {
    const under = await open();
    const { state } = under;
    const found = async () => {
      const reserved = await state.reserve('levels', [room]);
      if (reserved.outcome !== 'level-unknown') return reserved.limitStates[0]?.limit;
      return { staleVersion: reserved.version };
    };
    return { ...under, found };
  }

  describe(`shared-state levels: ${name}`, () => {
    test('the level of a commit updates a stored one and creates none', async () => {
      const { state, found, close } = await given();
      const { replaces: _, ...committed } = level(6, 2);
      await state.settle('levels', [committed]);
      expect(await found()).toEqual({ staleVersion: null });
      await state.settle('levels', [level(5, 1), committed]);
      expect(await found()).toBe(6);
      await close();
    });

    test('a limit may be above its level, by an amount that each claim has', async () => {
      const { state, close } = await given();
      await state.settle('levels', [level(-7, 1)]);
      const claim = (entry: string, plus: number): Claim => ({
        ...{ kind: 'held', name: 'spent', entry, amount: 2, ttlMs: HOUR, rule: 'room' },
        limit: { level: 'balance', maxAgeMs: HOUR, plus },
      });
      const many: Claim = {
        ...{ kind: 'held-many', name: 'spent', entry: 'm', count: 2, amount: 2, ttlMs: HOUR },
        limit: { level: 'balance', maxAgeMs: HOUR, plus: 13 },
      };
      const outcomes = [];
      for (const claims of [[claim('a', 7)], [claim('b', 8), room], [claim('c', 9)], [many], [many]]) {
        const reserved = await state.reserve('levels', claims);
        outcomes.push([reserved.outcome, 'limitStates' in reserved ? reserved.limitStates[0]?.limit : null]);
      }
      // The second is refused for the level alone, which is below zero.
      expect(outcomes).toEqual([
        ['refused', 0],
        ['refused', 1],
        ['reserved', 2],
        ['reserved', 6],
        ['refused', 6],
      ]);
      await close();
    });

    test('what follows a value is applied only while that is stored; in a cluster it always is', async () => {
      const { state, advance, found, close } = await given();
      const only = { kind: 'while', name: 'mark', value: 'one two' } as const;
      await state.settle('levels', [only, level(5, 1)]);
      expect(await found()).toEqual(isCluster ? 5 : { staleVersion: null });
      await state.set('mark', 'one two', SLACK);
      await state.settle('levels', [level(5, 1), only, level(6, 2), { ...only, value: 'one' }, level(7, 3)]);
      expect(await found()).toBe(isCluster ? 7 : 6);
      advance(SLACK);
      await state.settle('levels', [only, level(8, 4)]);
      expect(await found()).toBe(isCluster ? 8 : 6);
      await close();
    });

    test('an outdated level returns its version, and one read since replaces exactly that, also with a lower one', async () => {
      const { state, advance, found, close } = await given();
      await state.settle('levels', [level(5, 7)]);
      advance(HOUR + SLACK);
      expect(await found()).toEqual({ staleVersion: 7 });
      // Neither without saying what it replaces, nor over another version than it was read after.
      await state.settle('levels', [level(9, 3), { ...level(9, 3), replaces: 6 }]);
      expect(await found()).toEqual({ staleVersion: 7 });
      await state.settle('levels', [{ ...level(9, 3), replaces: 7 }]);
      expect(await found()).toBe(9);
      // The second of two that read at the same time does not undo what was committed since.
      await state.settle('levels', [level(8, 4), { ...level(9, 3), replaces: 7 }]);
      expect(await found()).toBe(8);
      // The same version of other books has another value.
      await state.settle('levels', [{ ...level(-2, 4), replaces: 4 }]);
      expect(await found()).toBe(-2);
      await close();
    });
  });
}
