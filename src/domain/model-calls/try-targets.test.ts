import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { plainModels } from '../../../test/doubles/plain-models.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import type { BodyRead, UpstreamAnswer, UpstreamCall } from '../../ports/model-upstream.ts';
import type { CallResult } from '../breakers/breaker.ts';
import { type Alias, type AliasRouting, type AliasTarget, DEFAULT_BOUNDS } from '../models/aliases.ts';
import { FAILURE_POLICY, ruleFor, type TargetResult } from './failure-policy.ts';
import type { CallKind, ModelRequest } from './try-target.ts';
import { tryTargets } from './try-targets.ts';

const PLAIN: AliasRouting = {
  strategy: 'order',
  retries: 0,
  retryStatuses: [],
  fallback: null,
  hedgeMs: null,
};
const target = (id: string, changes: Partial<AliasTarget> = {}): AliasTarget => ({
  ...{ id, baseUrl: `https://${id}.example/v1`, model: id, apiKey: null, weight: 1, ...changes },
});
const aliasOf = (
  targets: readonly AliasTarget[],
  routing: Partial<AliasRouting> = {},
  name = 'svc/a',
): Alias => ({
  ...{ alias: name, kind: 'chat', targets, prices: [], ...DEFAULT_BOUNDS.chat },
  routing: { ...PLAIN, ...routing },
});

/** What a target does with one call: how it ends, maybe after so long; or nothing ever. */
type Act =
  | TargetResult
  | 'never'
  | {
      readonly after?: number;
      readonly act: TargetResult;
      readonly retryAfterMs?: number;
      readonly isOurs?: boolean;
      readonly limitMs?: number;
    };

const UNREAD: CallKind<ModelRequest, UpstreamAnswer> = {
  order: 'weighted',
  uses: 'all',
  bodyFor: ({ alias }, { model }) => new TextEncoder().encode(`${alias.alias} ${model}`),
  whole: null,
};
const WHOLE = {
  ...{ maxBytes: 1_000, timeoutMs: 60_000, timedFrom: 'status' as const },
  parse: (text: string): string => JSON.parse(text),
};

const OF_THE_BODY: readonly TargetResult[] = ['broken-off', 'late', 'unreadable'];

/** Providers by their ids, each with what it does from call to call; the last act is repeated. `resting`: open breakers. */
function open(script: Record<string, readonly Act[]>, resting: Readonly<Record<string, number>> = {}) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const caller = new AbortController();
  const sent: string[] = [];
  const aborted: string[] = [];
  const reported: string[] = [];
  const noted: string[] = [];
  const open = new Set<object>();
  const inFlight = new Map<string, number>();
  const most = new Map<string, number>();
  const random = createSeededRandom(1);

  function flies(id: string): () => void {
    const now = (inFlight.get(id) ?? 0) + 1;
    inFlight.set(id, now);
    most.set(id, Math.max(most.get(id) ?? 0, now));
    let isOver = false;
    return () => {
      if (!isOver) inFlight.set(id, (inFlight.get(id) ?? 0) - 1);
      isOver = true;
    };
  }

  function answerOf(id: string, result: number | string, land: () => void, more: object): UpstreamAnswer {
    const chunks = [new TextEncoder().encode(result === 'unreadable' ? '<html>' : `"from ${id}"`)];
    const mark = {};
    open.add(mark);
    const end = () => {
      land();
      open.delete(mark);
    };
    const read = (): BodyRead | Promise<BodyRead> => {
      if (result === 'late') return new Promise(() => {});
      if (result === 'broken-off') return 'broken';
      const next = chunks.shift() ?? null;
      if (next === null) end();
      return next;
    };
    const status = typeof result === 'number' ? result : 200;
    return { status, contentType: '', retryAfterMs: null, body: { read, cancel: end }, ...more };
  }

  async function send(
    { id }: { readonly id: string },
    { body, signal }: UpstreamCall,
  ): Promise<UpstreamAnswer> {
    const acts = script[id] ?? [];
    const before = sent.filter((one) => one.endsWith(` ${id}`)).length;
    const act = acts[Math.min(before, acts.length - 1)] ?? 'never';
    sent.push(new TextDecoder().decode(body));
    const land = flies(id);
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>();
    const fail = (reason: string, more = {}) => {
      land();
      reject(Object.assign(new Error(reason), { name: 'UpstreamFailure', reason, ...more }));
    };
    signal.addEventListener('abort', () => {
      aborted.push(id);
      fail('aborted');
    });
    const finish = (final: TargetResult, more = {}) =>
      typeof final === 'number' || OF_THE_BODY.includes(final)
        ? resolve(answerOf(id, final, land, more))
        : fail(final, more);
    if (act === 'never') return promise;
    if (act === 'aborted') caller.abort();
    if (typeof act !== 'object') finish(act);
    else {
      const { after, act: final, ...more } = act;
      if (after === undefined) finish(final, more);
      else clock.after(after, () => void (signal.aborted || finish(final, more)));
    }
    return promise;
  }

  const parts = {
    ...{ clock, log, upstream: { send } },
    secrets: { randomBytes: (length: number) => Uint8Array.from({ length }, () => random.below(256)) },
    models: plainModels((alias) => alias.targets, {
      noteSuccess: (id) => void noted.push(`${id} success`),
      noteFailure: (id) => void noted.push(`${id} failure`),
      cool: (id, reason) => void noted.push(`${id} cools by ${reason}`),
    }),
    breakers: {
      enter(service: string) {
        const [id = ''] = service.split('.');
        const retryAfterMs = resting[id];
        if (retryAfterMs !== undefined) return { outcome: 'rejected' as const, retryAfterMs };
        const report = (result: CallResult) =>
          void reported.push(`${id} ${typeof result === 'string' ? result : result.failure}`);
        return { outcome: 'enter' as const, report };
      },
    },
  };
  const run = (alias: Alias, fallbacks?: readonly Alias[], kind: Partial<typeof UNREAD> = {}) =>
    tryTargets(
      parts,
      { ...UNREAD, ...kind },
      { alias, fallbacks, endpoint: 'chat/completions' },
      caller.signal,
    );
  const runWhole = (alias: Alias, maxBytes = 1_000) =>
    tryTargets(
      parts,
      { ...UNREAD, whole: { ...WHOLE, maxBytes } },
      { alias, endpoint: 'chat/completions' },
      caller.signal,
    );
  /** To its end, while time passes. */
  async function ended<Result>(running: Promise<Result>, ms = 60_000): Promise<Result> {
    await clock.advance(ms);
    return await running;
  }
  return {
    ...{ run, runWhole, ended, clock, caller, entries, sent, aborted, reported, noted },
    ...{ open, inFlight, most, parts },
  };
}

const A = target('a');
const B = target('b');
const C = target('c');

interface Row {
  readonly results: readonly TargetResult[];
  /** Who is asked where there is a second target, and where there is none. */
  readonly asked: readonly string[];
  readonly askedAlone: readonly string[];
  /** Of the first; `status` is a failure by the name of that status. */
  readonly breaker: 'success' | 'ignored' | 'network' | 'time-out' | 'status';
  readonly target: readonly string[];
  readonly outcome: 'answered' | 'request-refused' | 'aborted';
  readonly outcomeAlone: 'answered' | 'request-refused' | 'failed' | 'aborted';
}

const ALL = ['a', 'b'];
const NEXT = { asked: ALL, askedAlone: ['a'], outcome: 'answered', outcomeAlone: 'failed' } as const;
const STOP = { asked: ['a'], askedAlone: ['a'] } as const;
const FAILED = ['a failure', 'b success'];
const COOLED = ['a cools by', 'b success'];

const ROWS: readonly Row[] = [
  {
    ...{ results: [200, 201, 299], ...STOP, outcome: 'answered', outcomeAlone: 'answered' },
    ...{ breaker: 'success', target: ['a success'] },
  },
  {
    ...{ results: [400, 413, 415, 422], ...STOP },
    ...{ outcome: 'request-refused', outcomeAlone: 'request-refused' },
    ...{ breaker: 'ignored', target: ['a success'] },
  },
  { results: [401, 402, 403, 407, 429], ...NEXT, breaker: 'ignored', target: COOLED },
  { results: [529], ...NEXT, breaker: 'status', target: COOLED },
  { results: [408], ...NEXT, breaker: 'time-out', target: FAILED },
  { results: [301, 307], ...NEXT, breaker: 'ignored', target: FAILED },
  { results: [404, 409, 418, 425, 451], ...NEXT, breaker: 'ignored', target: FAILED },
  { results: [500, 502, 503, 504, 599], ...NEXT, breaker: 'status', target: FAILED },
  { results: ['connect'], ...NEXT, breaker: 'network', target: FAILED },
  { results: ['local'], ...NEXT, breaker: 'ignored', target: ['b success'] },
  { results: ['broken'], ...NEXT, breaker: 'network', target: FAILED },
  { results: ['first-byte-time-out'], ...NEXT, breaker: 'time-out', target: FAILED },
  { results: ['broken-off'], ...NEXT, breaker: 'network', target: FAILED },
  { results: ['late'], ...NEXT, breaker: 'time-out', target: FAILED },
  { results: ['unreadable'], ...NEXT, breaker: 'success', target: FAILED },
  {
    ...{ results: ['aborted'], ...STOP, outcome: 'aborted', outcomeAlone: 'aborted' },
    ...{ breaker: 'ignored', target: [] },
  },
];

const cases = ROWS.flatMap((row) =>
  row.results.flatMap((result) => [
    { result, reading: 'read whole', ...row },
    ...(OF_THE_BODY.includes(result) ? [] : [{ result, reading: 'taken unread', ...row }]),
  ]),
);

describe('A-14 G-36 what the result of a try means, for every model call', () => {
  test.each(cases)('A-14 G-36 $result, $reading', async ({ result, reading, ...row }) => {
    const ended = async (...targets: AliasTarget[]) => {
      const { run, runWhole, ended, sent, ...seen } = open({ a: [result], b: [200] });
      const running = reading === 'read whole' ? runWhole(aliasOf(targets)) : run(aliasOf(targets));
      const { outcome } = await ended<{ outcome: string }>(running);
      return { ...seen, outcome, asked: sent.map((one) => one.at(-1) ?? '') };
    };
    const two = await ended(A, B);
    expect([two.outcome, two.asked]).toEqual([row.outcome, [...row.asked]]);
    expect(two.noted).toEqual(
      row.target.map((noted) => (noted === 'a cools by' ? `${noted} ${result}` : noted)),
    );
    expect(two.reported[0]).toBe(`a ${row.breaker === 'status' ? result : row.breaker}`);
    // Every failed target has its line.
    expect(two.entries.map(({ message }) => message)).toEqual(
      row.target === FAILED || row.target === COOLED ? ['a model target failed'] : [],
    );

    const alone = await ended(A);
    expect([alone.outcome, alone.asked]).toEqual([row.outcomeAlone, [...row.askedAlone]]);
    expect(alone.reported).toHaveLength(row.askedAlone.length);
  });

  test('G-42 a time-out that is reached is named: the longest to the caller, each with its setting in the log', async () => {
    const late = (limitMs: number) => [{ act: 'first-byte-time-out' as const, limitMs }];
    const { run, ended, entries } = open({ a: late(600_000), b: late(900), c: [500] });
    const targets = [A, { ...B, timeoutMs: 900 }, target('c')];
    expect(await ended(run(aliasOf(targets)))).toMatchObject({ outcome: 'failed', limitMs: 600_000 });
    expect(entries.map(({ context }) => context.problem)).toEqual([
      'no answer within 600000 ms (UPSTREAM_FIRST_BYTE_TIMEOUT_MS)',
      'no answer within 900 ms (timeout_ms of the target)',
      undefined,
    ]);
  });

  test('A-14 every row of the table is tried here, and no result is in two rows', () => {
    const tried = new Set(ROWS.flatMap(({ results }) => results.map(ruleFor)));
    expect([...tried]).toEqual([...FAILURE_POLICY]);
    const named = FAILURE_POLICY.flatMap(({ on }) => on);
    expect(new Set(named).size).toBe(named.length);
  });

  test('an answer past its bound is none: the next target is asked', async () => {
    const { runWhole, sent } = open({ a: [200], b: [200] });
    expect((await runWhole(aliasOf([A, B]), 1)).outcome).toBe('failed');
    expect(sent).toHaveLength(2);
  });
});

describe('trying the targets of a model', () => {
  test('G-15 by weight or in their order, each with its own name of the model', async () => {
    for (const order of ['weighted', 'as-listed'] as const) {
      const { run, sent, parts } = open({ a: ['broken'], b: ['broken'] });
      const draws: number[] = [];
      // As if the last one had been drawn.
      const models = plainModels(({ targets }, draw) => {
        draws.push(draw);
        return targets.toReversed();
      });
      Object.assign(parts, { models });
      await run(aliasOf([A, B]), undefined, { order });
      expect(sent).toEqual(order === 'weighted' ? ['svc/a b', 'svc/a a'] : ['svc/a a', 'svc/a b']);
      expect(draws).toHaveLength(order === 'weighted' ? 1 : 0);
    }
  });

  test('G-15 a random draw is below one, and where there is one target nothing is drawn', async () => {
    const drawnOf = async (byte: number, ...targets: AliasTarget[]) => {
      const { run, parts } = open({ a: [200], b: [200] });
      let drawn = -1;
      const models = plainModels((alias, draw) => {
        drawn = draw;
        return alias.targets;
      });
      Object.assign(parts, { models, secrets: { randomBytes: () => new Uint8Array(3).fill(byte) } });
      await run(aliasOf(targets));
      return drawn;
    };
    expect([await drawnOf(0, A, B), await drawnOf(255, A)]).toEqual([0, 0]);
    expect(await drawnOf(255, A, B)).toBeWithin(0.9999, 1);
  });

  test('G-28 providers alone, or the embedded models alone', async () => {
    const own = target('own', { baseUrl: null });
    for (const [uses, asked] of [
      ['providers', 'svc/a a'],
      ['embedded', 'svc/a own'],
    ] as const) {
      const { run, sent } = open({ own: ['broken'], a: ['broken'] });
      await run(aliasOf([own, A]), undefined, { uses });
      expect(sent).toEqual([asked]);
    }
  });

  test('A-14 targets with open breakers are skipped; when all are open, the shortest wait is returned', async () => {
    const some = open({ a: [200], b: [200] }, { a: 9 });
    expect(await some.run(aliasOf([A, B]))).toMatchObject({ outcome: 'answered', target: { id: 'b' } });
    const all = open({}, { a: 5, b: 9 });
    expect(await all.run(aliasOf([A, B]))).toEqual({ outcome: 'not-tried', retryAfterMs: 5 });
    expect(all.sent).toEqual([]);
  });

  test('G-36 when every target is at its rate limit the outcome is one, with the longest wait', async () => {
    const limited = (retryAfterMs: number) => ({ act: 429, retryAfterMs });
    const failed = (script: Record<string, readonly Act[]>, resting = {}) =>
      open(script, resting).run(aliasOf([A, B, C]));
    const all = { a: [limited(3_000)], b: [limited(20_000)], c: [429] };
    expect(await failed(all)).toMatchObject({ cause: 'rate-limit', retryAfterMs: 20_000 });
    expect(await failed({ ...all, c: [500] })).toMatchObject({ cause: 'other', retryAfterMs: 20_000 });
    const refused = await failed({ a: [401], b: [403], c: [404] });
    expect(refused).toMatchObject({ cause: 'refused', retryAfterMs: null });
    expect(await failed(all, { a: 5 })).toMatchObject({ cause: 'other' });
  });

  test('an answer of ours instead of a provider’s counts neither for its breaker nor for its target', async () => {
    for (const act of [200, 400]) {
      const { run, reported, noted } = open({ a: [{ act, isOurs: true }] });
      await run(aliasOf([A]));
      expect([reported, noted]).toEqual([['a ignored'], []]);
    }
  });

  test('an error within an answer counts as its status', async () => {
    for (const [result, breaker] of [
      [429, 'a ignored'],
      [529, 'a 529'],
    ] as const) {
      const { run, reported, noted } = open({ a: [200] });
      const tried = await run(aliasOf([A]));
      if (tried.outcome !== 'answered') throw new Error('it was not answered');
      tried.noteBroken?.(result);
      expect([reported, noted]).toEqual([
        ['a success', breaker],
        ['a success', `a cools by ${result}`],
      ]);
    }
  });

  test('no target is called for a client that has disconnected', async () => {
    const { run, sent, caller } = open({ a: [200] });
    caller.abort();
    expect(await run(aliasOf([A]))).toEqual({ outcome: 'aborted', targetId: null, tries: 0 });
    expect(sent).toEqual([]);
  });
});

describe('retries', () => {
  test('so many further tries, after a pause, of targets whose failure may pass', async () => {
    const { run, ended, sent } = open({ a: [500], b: ['broken', 200] });
    const tried = await ended(run(aliasOf([A, B], { retries: 2 })));
    expect(tried).toMatchObject({ outcome: 'answered', target: { id: 'b' }, tries: 4 });
    expect(sent).toEqual(['svc/a a', 'svc/a b', 'svc/a a', 'svc/a b']);
    const failing = open({ a: [500], b: [500] });
    const failed = await failing.ended(failing.run(aliasOf([A, B], { retries: 1 })));
    expect(failed).toMatchObject({ outcome: 'failed', tries: 3 });
  });

  test('a refused key or an unknown model is not tried again', async () => {
    for (const status of [401, 403, 404]) {
      const { run, ended, sent } = open({ a: [status] });
      expect(await ended(run(aliasOf([A], { retries: 3 })))).toMatchObject({ outcome: 'failed', tries: 1 });
      expect(sent).toHaveLength(1);
    }
  });

  test('a caller that leaves ends the pause', async () => {
    const { run, clock, caller, sent } = open({ a: [500] });
    const running = run(aliasOf([A], { retries: 1 }));
    await clock.advance(0);
    caller.abort();
    expect(await running).toEqual({ outcome: 'aborted', targetId: 'a', tries: 1 });
    expect([sent.length, clock.pendingTimers()]).toEqual([1, 0]);
  });
});

describe('statuses that move on to the next target', () => {
  test('the next target is tried, and the refusal is dropped where that answers', async () => {
    const { run, open: bodies } = open({ a: [400], b: [200] });
    const tried = await run(aliasOf([A, B], { retryStatuses: [400] }));
    expect(tried).toMatchObject({ outcome: 'answered', target: { id: 'b' }, tries: 2 });
    expect(bodies.size).toBe(1);
  });

  test('when no target answers, the client gets the last rejection with its body unread', async () => {
    const { run, open: bodies } = open({ a: [400], b: [422], c: [500] });
    const tried = await run(aliasOf([A, B, C], { retryStatuses: [400, 422] }));
    expect(tried).toMatchObject({ outcome: 'request-refused', target: { id: 'b' }, tries: 3 });
    expect(bodies.size).toBe(1);
    const stopped = open({ a: [400], b: [200] });
    expect(await stopped.run(aliasOf([A, B], { retryStatuses: [413] }))).toMatchObject({
      outcome: 'request-refused',
      tries: 1,
    });
  });
});

describe('a fallback', () => {
  test('has its turn when every target of the first has failed, with its own name in the body; a refused request has none', async () => {
    const { run, sent } = open({ a: [500], b: [200] });
    const other = aliasOf([B], {}, 'svc/other');
    const tried = await run(aliasOf([A]), [other]);
    expect(tried).toMatchObject({ outcome: 'answered', alias: { alias: 'svc/other' }, tries: 2 });
    expect(sent).toEqual(['svc/a a', 'svc/other b']);
    const refused = await open({ a: [400], b: [200] }).run(aliasOf([A]), [other]);
    expect(refused).toMatchObject({ outcome: 'request-refused', tries: 1 });
  });

  test('also where no target of the first may be called, and then there was one try', async () => {
    const { run } = open({ b: [200] }, { a: 5_000 });
    const tried = await run(aliasOf([A]), [aliasOf([B], {}, 'svc/other')]);
    expect(tried).toMatchObject({ outcome: 'answered', alias: { alias: 'svc/other' }, tries: 1 });
    const none = await open({}).run(aliasOf([]), [aliasOf([])]);
    expect(none).toEqual({ outcome: 'not-tried', retryAfterMs: null });
  });
});

describe('a limit of calls in flight', () => {
  const limited = (id: string, maxInFlight: number) => target(id, { maxInFlight });

  test('a target at its limit is skipped until a response has ended, however it ends', async () => {
    for (const end of ['read', 'cancel', 'abort'] as const) {
      const { run, sent, caller } = open({ a: [200], b: [200] });
      const alias = aliasOf([limited('a', 1), B]);
      const first = await run(alias);
      expect(await run(alias)).toMatchObject({ target: { id: 'b' }, tries: 1 });
      if (first.outcome !== 'answered') throw new Error('it was not answered');
      if (end === 'read') while ((await first.answer.body.read(0)) !== null);
      else if (end === 'cancel') first.answer.body.cancel();
      else caller.abort();
      first.answer.body.cancel();
      if (end === 'abort') continue;
      expect(await run(alias)).toMatchObject({ target: { id: 'a' } });
      expect(sent).toEqual(['svc/a a', 'svc/a b', 'svc/a a']);
    }
  });

  test('G-31 an answer that says that it lacks usage still says so', async () => {
    const { run, parts } = open({});
    const body = { read: () => null, cancel() {}, lacksUsage: () => true };
    parts.upstream.send = async () => ({ status: 200, contentType: '', body });
    const tried = await run(aliasOf([limited('a', 1)]));
    expect(tried.outcome === 'answered' && tried.answer.body.lacksUsage?.()).toBe(true);
  });

  test('when all targets are at their limit none is called, and a second later capacity may be free', async () => {
    const { run } = open({ a: ['never'] });
    const alias = aliasOf([limited('a', 1)]);
    void run(alias);
    expect(await run(alias)).toEqual({ outcome: 'not-tried', retryAfterMs: 1_000 });
  });

  test('failures and aborted calls release their slot', async () => {
    const { run, runWhole, caller, parts } = open({ a: [500, 'broken', 400, 200, 'never'] });
    const one = limited('a', 1);
    const alias = aliasOf([one]);
    for (let call = 0; call < 2; call += 1) expect(await run(alias)).toMatchObject({ outcome: 'failed' });
    const refused = await run(alias);
    if (refused.outcome === 'request-refused') refused.answer.body.cancel();
    expect(await runWhole(alias)).toMatchObject({ outcome: 'answered', answer: 'from a' });
    const waiting = run(alias);
    caller.abort();
    expect(await waiting).toMatchObject({ outcome: 'aborted' });
    expect(parts.models.flights.enter(one)).toBe(true);
  });
});

describe('a hedge', () => {
  const HEDGED = { hedgeMs: 100 };

  test('a target that answers in time is the only one that is called', async () => {
    const { run, ended, sent, clock } = open({ a: [{ after: 99, act: 200 }], b: [200] });
    expect(await ended(run(aliasOf([A, B], HEDGED)))).toMatchObject({ target: { id: 'a' }, tries: 1 });
    expect([sent.length, clock.pendingTimers()]).toEqual([1, 0]);
  });

  test('answers that are read completely are hedged as well', async () => {
    const { runWhole, ended, aborted } = open({ a: ['never'], b: [200] });
    const tried = await ended(runWhole(aliasOf([A, B], HEDGED)));
    expect(tried).toMatchObject({ outcome: 'answered', answer: 'from b', tries: 2 });
    expect(aborted).toEqual(['a']);
  });

  test('otherwise the first answer is used; the other call is aborted and not counted', async () => {
    for (const [script, winner, loser] of [
      [{ a: ['never'], b: [200] }, 'b', 'a'],
      [{ a: [{ after: 150, act: 200 }], b: ['never'] }, 'a', 'b'],
    ] as const) {
      const { run, ended, sent, aborted, reported, noted, open: bodies, clock } = open(script);
      const tried = await ended(run(aliasOf([A, B, C], HEDGED)));
      expect(tried).toMatchObject({ outcome: 'answered', target: { id: winner }, tries: 2 });
      expect([sent.length, aborted, bodies.size]).toEqual([2, [loser], 1]);
      expect(reported.toSorted()).toEqual([`${winner} success`, `${loser} ignored`].toSorted());
      expect([noted, clock.pendingTimers()]).toEqual([[`${winner} success`], 0]);
    }
  });

  test('when one of the two fails the other is waited for, and when both do the next target is tried', async () => {
    const one = open({ a: [{ after: 300, act: 200 }], b: [500] });
    expect(await one.ended(one.run(aliasOf([A, B], HEDGED)))).toMatchObject({
      target: { id: 'a' },
      tries: 2,
    });
    const both = open({ a: [{ after: 300, act: 500 }], b: ['broken'], c: [200] });
    expect(await both.ended(both.run(aliasOf([A, B, C], HEDGED)))).toMatchObject({
      ...{ outcome: 'answered', target: { id: 'c' }, tries: 3 },
    });
    expect(both.sent).toHaveLength(3);
  });

  test('a client that disconnects ends both, also after one has answered', async () => {
    const both = open({ a: ['never'], b: ['never'] });
    const running = both.run(aliasOf([A, B], HEDGED));
    await both.clock.advance(200);
    both.caller.abort();
    expect(await running).toMatchObject({ outcome: 'aborted' });
    expect(both.aborted.toSorted()).toEqual(['a', 'b']);
    const answered = open({ a: ['never'], b: [200] });
    await answered.ended(answered.run(aliasOf([A, B], HEDGED)));
    answered.caller.abort();
    expect(answered.aborted).toEqual(['a', 'b']);
  });
});

test('with retries, hedges, limits and fallbacks a call ends once, each provider call is a try, and no response stays open', async () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = createSeededRandom(seed);
    const ids = ['a', 'b', 'c', 'd'];
    const acts = (): readonly Act[] =>
      Array.from({ length: 1 + random.below(3) }, () =>
        random.pick<Act>([
          200,
          200,
          500,
          400,
          'broken',
          { after: random.below(400), act: 200 },
          { after: random.below(400), act: 500 },
        ]),
      );
    const world = open(
      Object.fromEntries(ids.map((id) => [id, acts()])),
      random.below(3) === 0 ? { b: 5_000 } : {},
    );
    const limit = 1 + random.below(2);
    const targets = ids.map((id) => target(id, random.below(2) === 0 ? { maxInFlight: limit } : {}));
    const routing = {
      retries: random.below(4),
      retryStatuses: random.below(2) === 0 ? [400] : [],
      hedgeMs: random.below(3) === 0 ? null : random.below(200),
    };
    const first = aliasOf(targets.slice(0, 2), routing);
    const other = aliasOf(targets.slice(2), routing, 'svc/other');
    const calls = Array.from({ length: 1 + random.below(5) }, () => world.run(first, [other]));
    await world.clock.advance(60_000);
    const tried = await Promise.all(calls);
    const tries = tried.reduce((sum, one) => sum + ('tries' in one ? one.tries : 0), 0);
    const unread = tried.flatMap((one) => ('answer' in one ? one.answer : []));
    expect({ seed, tries, open: world.open.size }).toEqual({
      ...{ seed, tries: world.sent.length, open: unread.length },
    });
    for (const { body } of unread) body.cancel();
    for (const { id, maxInFlight } of targets) {
      expect(world.inFlight.get(id) ?? 0).toBe(0);
      if (maxInFlight !== undefined) expect(world.most.get(id) ?? 0).toBeLessThanOrEqual(maxInFlight);
      for (let place = 0; place < (maxInFlight ?? 0); place += 1) {
        expect(world.parts.models.flights.enter(target(id, { maxInFlight: maxInFlight ?? 0 }))).toBe(true);
      }
    }
    expect(world.clock.pendingTimers()).toBe(0);
  }
});
