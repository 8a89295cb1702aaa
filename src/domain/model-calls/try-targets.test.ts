import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { plainModels } from '../../../test/doubles/plain-models.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import type { UpstreamAnswer } from '../../ports/model-upstream.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS } from '../models/aliases.ts';
import type { CallKind, ModelRequest } from './try-target.ts';
import { tryTargets } from './try-targets.ts';

const target = (id: string, baseUrl: string | null = `https://${id}.example/v1`): AliasTarget => ({
  ...{ id, baseUrl, model: `${id}-model`, apiKey: null, weight: 1 },
});
const OWN = target('own', null);

const KIND: CallKind<ModelRequest, UpstreamAnswer> = {
  order: 'weighted',
  uses: 'all',
  bodyFor: (_request, { model }) => new TextEncoder().encode(model),
  whole: null,
};

/** Every target breaks, unless a status is given; `waits`: what each says about when to retry; `resting`: milliseconds by the host of an open breaker. */
function open(
  targets: readonly AliasTarget[],
  {
    status = null as number | null,
    lastStatus = null as number | null,
    waits = [] as (number | null)[],
    isOurs = false,
    resting = {} as Record<string, number>,
    bytes = [0, 0, 0],
  } = {},
) {
  const noted: unknown[] = [];
  const { log, entries } = createRecordingLog();
  const caller = new AbortController();
  const asked: string[] = [];
  const draws: number[] = [];
  const parts = {
    ...{ clock: createManualClock(), log },
    secrets: { randomBytes: () => new Uint8Array(bytes) },
    models: plainModels(
      // As if the last one had been drawn.
      (alias, draw) => {
        draws.push(draw);
        return alias.targets.toReversed();
      },
      {
        cool: (id, reason) => void noted.push(`${id} cools by ${reason}`),
        noteSuccess: () => void noted.push('success'),
        noteFailure: () => void noted.push('failure'),
      },
    ),
    breakers: {
      enter(service: string) {
        const retryAfterMs = resting[service];
        if (retryAfterMs !== undefined) return { outcome: 'rejected' as const, retryAfterMs };
        return { outcome: 'enter' as const, report: (result: unknown) => void noted.push(result) };
      },
    },
    upstream: {
      async send(_target: unknown, { body }: { readonly body: Uint8Array }): Promise<UpstreamAnswer> {
        asked.push(new TextDecoder().decode(body));
        if (status === null) throw new Error('cut');
        const mark = isOurs ? { isOurs } : {};
        const retryAfterMs = waits[asked.length - 1] ?? null;
        const isLast = asked.length === targets.length;
        const own = isLast && lastStatus !== null ? lastStatus : status;
        return { status: own, contentType: '', retryAfterMs, body: bodyOf(new Response('')), ...mark };
      },
    },
  };
  const alias: Alias = { alias: 'svc/a', kind: 'chat', targets, prices: [], ...DEFAULT_BOUNDS.chat };
  const run = (kind: Partial<typeof KIND> = {}) =>
    tryTargets(parts, { ...KIND, ...kind }, { alias, endpoint: 'embeddings' }, caller.signal);
  return { run, asked, draws, entries, caller, noted };
}

describe('trying the targets of a model', () => {
  test('G-15 by weight or in their order, each with its own name of the model', async () => {
    const weighted = open([target('one'), target('two')]);
    await weighted.run();
    expect(weighted.asked).toEqual(['two-model', 'one-model']);
    const listed = open([target('one'), target('two')]);
    await listed.run({ order: 'as-listed' });
    expect([listed.asked, listed.draws]).toEqual([['one-model', 'two-model'], []]);
  });

  test('G-15 a random draw is below one, never one', async () => {
    const two = [target('one'), target('two')];
    const [lowest, highest] = [open(two), open(two, { bytes: [255, 255, 255] })];
    const alone = open([target('one')], { bytes: [255, 255, 255] });
    for (const one of [lowest, highest, alone]) await one.run();
    // Where there is one target nothing is drawn.
    expect(alone.draws).toEqual([0]);
    expect(lowest.draws).toEqual([0]);
    expect(highest.draws[0]).toBeLessThan(1);
    expect(highest.draws[0]).toBeGreaterThan(0.9999);
  });

  test('G-28 providers alone, or the embedded models alone', async () => {
    const providers = open([OWN, target('one')], { status: 500 });
    await providers.run({ uses: 'providers' });
    const embedded = open([OWN, target('one')], { status: 500 });
    await embedded.run({ uses: 'embedded' });
    expect([providers.asked, embedded.asked]).toEqual([['one-model'], ['own-model']]);
  });

  test('A-14 targets with open breakers are skipped; when all are open, the shortest wait is returned', async () => {
    const some = open([target('one'), target('two')], { status: 200, resting: { 'two.example': 9 } });
    expect(await some.run()).toMatchObject({ outcome: 'answered', target: { id: 'one' } });
    const all = open([target('one'), target('two')], { resting: { 'one.example': 5, 'two.example': 9 } });
    expect(await all.run()).toEqual({ outcome: 'not-tried', retryAfterMs: 5 });
    expect(all.asked).toEqual([]);
    expect(await open([]).run()).toEqual({ outcome: 'not-tried', retryAfterMs: null });
  });

  test('G-36 when every target is at its rate limit the outcome is one, with the longest wait', async () => {
    const three = [target('one'), target('two'), target('three')];
    const all = open(three, { status: 429, waits: [3_000, 20_000, null] });
    expect(await all.run()).toMatchObject({ outcome: 'failed', cause: 'rate-limit', retryAfterMs: 20_000 });
    const mixed = open(three, { status: 429, lastStatus: 500, waits: [3_000] });
    expect(await mixed.run()).toMatchObject({ cause: 'other', retryAfterMs: 3_000 });
    const refused = open(three, { status: 401, lastStatus: 404 });
    expect(await refused.run()).toMatchObject({ cause: 'refused', retryAfterMs: null });
    const passedOver = open(three, { status: 429, resting: { 'one.example': 5 } });
    expect(await passedOver.run()).toMatchObject({ cause: 'other', retryAfterMs: null });
  });

  test('a target that broke off is not called again, even if it is the only one', async () => {
    const { run, asked, entries } = open([OWN, target('one')]);
    expect(await run({ uses: 'providers' })).toEqual({
      outcome: 'failed',
      targetId: 'one',
      reason: 'broken',
      cause: 'other',
      retryAfterMs: null,
      tries: 1,
    });
    expect(asked).toEqual(['one-model']);
    expect(entries).toMatchObject([
      { message: 'a model target failed', context: { alias: 'svc/a', targetId: 'one', reason: 'broken' } },
    ]);
  });

  test('an answer of ours instead of a provider’s counts neither for its breaker nor for its target', async () => {
    const provider = open([target('one')], { status: 200 });
    await provider.run();
    expect(provider.noted).toEqual(['success', 'success']);
    for (const status of [200, 400]) {
      const ours = open([target('one')], { status, isOurs: true });
      await ours.run();
      expect(ours.noted).toEqual(['ignored']);
    }
  });

  test('an error within an answer counts as its status', async () => {
    for (const [result, breaker] of [
      [429, 'ignored'],
      [529, { failure: '529' }],
    ] as const) {
      const { run, noted } = open([target('one')], { status: 200 });
      const tried = await run();
      if (tried.outcome !== 'answered') throw new Error('it was not answered');
      tried.noteBroken?.(result);
      expect(noted).toEqual(['success', 'success', breaker, `one cools by ${result}`]);
    }
  });

  test('no target is called for a client that has disconnected', async () => {
    const { run, asked, caller } = open([target('one')]);
    caller.abort();
    expect(await run()).toEqual({ outcome: 'aborted', targetId: null, tries: 0 });
    expect(asked).toEqual([]);
  });
});
