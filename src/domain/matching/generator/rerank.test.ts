import { describe, expect, test } from 'bun:test';
import { letterVectors, openMatchingWorld, scoresOf } from '../../../../test/matching/matching-world.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import type { AnswerCall, Answered, PlatformModelCalls } from './model-calls.ts';
import { workOffChanges } from './process-changes.ts';
import { workOffPairs } from './process-pairs.ts';
import { rerankBest } from './rerank.ts';

const database = useDatabase();

const { signal } = new AbortController();

/** A company with two good talents and a poor one, scored; then the model is asked. */
async function reranked(answer: (call: AnswerCall) => Promise<Answered>) {
  const asked: AnswerCall[] = [];
  const modelCalls: PlatformModelCalls = {
    ...letterVectors,
    answer(call) {
      asked.push(call);
      return answer(call);
    },
  };
  const world = await openMatchingWorld(database, { modelCalls });
  await world.addJob({ mustHave: ['Python'], niceToHave: ['Docker'] });
  const good = await world.addTalent({ skills: ['Python', 'Docker'] });
  await world.addTalent({ skills: ['Python'] });
  await world.addTalent({ skills: ['Cooking'], title: 'Chef' });
  await workOffChanges(world.parts, world.claim(), signal);
  const { scored } = await workOffPairs(world.parts, world.claim());
  const before = await scoresOf(database, world.companyId);
  await rerankBest(world.parts, scored, signal);
  return { asked, good, before, after: await scoresOf(database, world.companyId), entries: world.entries };
}

const says = (matches: unknown) => async () =>
  ({ outcome: 'answered', text: JSON.stringify({ matches }) }) as const;

describe('A-12 the model’s words', () => {
  test('A-12 it is asked about the best few alone, with nothing about who they are', async () => {
    const { asked } = await reranked(says([]));
    expect(asked).toHaveLength(1);
    const shown = JSON.parse(asked[0]?.data ?? '[]') as { key: string }[];
    expect(shown.map(({ key }) => key)).toEqual(['match-1', 'match-2']);
    expect(asked[0]?.data).not.toContain('Person');
  });

  test('A-12 it words reasons and moves a score by 5 at most', async () => {
    const { before, after } = await reranked(
      says([{ key: 'match-2', adjust: 50, reasons: ['Knows Python well.'], missing: ['Docker'] }]),
    );
    const moved = after.find(({ engine }) => engine === 'model');
    const old = before.find(({ talentId }) => talentId === moved?.talentId);
    expect(moved).toMatchObject({ reasons: ['Knows Python well.'], missing: ['Docker'] });
    expect(moved?.score).toBeCloseTo((old?.score ?? 0) + 5, 5);
    expect(after.filter(({ engine }) => engine === 'embedded')).toHaveLength(2);
  });

  test('A-12 what it invents is dropped, and with it the judgement', async () => {
    const { before, after } = await reranked(
      says([
        { key: 'match-1', adjust: 5, reasons: ['Ten years of Kubernetes.', 'Led 40 people.'], missing: [] },
        { key: 'match-9', adjust: 5, reasons: ['Python'], missing: [] },
      ]),
    );
    expect(after).toEqual(before);
  });

  for (const [how, answer] of [
    ['in prose', async () => ({ outcome: 'answered', text: 'I think they are all great.' }) as const],
    ['in broken JSON', async () => ({ outcome: 'answered', text: '{"matches": [{"key"' }) as const],
    ['in another shape', says([{ key: 'match-1' }])],
    ['not at all', async () => ({ outcome: 'unavailable', reason: 'failed' }) as const],
    [
      'not while its breaker is open',
      async () => ({ outcome: 'unavailable', reason: 'rejected-by-breaker' }) as const,
    ],
  ] as const) {
    test(`A-12 a model that answers ${how} leaves the scores as they are`, async () => {
      const { before, after } = await reranked(answer);
      expect(after).toEqual(before);
    });
  }
});
