import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { plainModels } from '../../../test/doubles/plain-models.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { UpstreamAnswer } from '../../ports/model-upstream.ts';
import type { CallResult } from '../breakers/breaker.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS } from '../models/aliases.ts';
import { FAILURE_POLICY, ruleFor, type TargetResult } from './failure-policy.ts';
import type { CallKind, ModelRequest } from './try-target.ts';
import { tryTargets } from './try-targets.ts';

type Whole = NonNullable<CallKind<ModelRequest, unknown>['whole']>;

const TIMEOUT_MS = 60_000;
const WHOLE: Whole = {
  maxBytes: 1_000,
  timeoutMs: TIMEOUT_MS,
  timedFrom: 'status',
  parse: (text) => JSON.parse(text),
};

const target = (id: string): AliasTarget => ({
  id,
  baseUrl: `https://${id}.example/v1`,
  model: id,
  apiKey: null,
  weight: 1,
});

/** The first target called returns this result; every later one answers. */
function open(result: TargetResult, whole: Whole | null, ids: readonly string[]) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const caller = new AbortController();
  const seen = { asked: [] as string[], breaker: [] as CallResult[], target: [] as string[] };
  const parts = {
    ...{ clock, log, secrets: createSystemSecrets() },
    models: plainModels(({ targets }) => targets, {
      noteSuccess: (id) => void seen.target.push(`${id} success`),
      noteFailure: (id) => void seen.target.push(`${id} failure`),
      cool: (id, reason) => void seen.target.push(`${id} cools by ${reason}`),
    }),
    breakers: {
      enter: () => ({
        outcome: 'enter' as const,
        report: (reported: CallResult) => void seen.breaker.push(reported),
      }),
    },
    upstream: {
      async send({ id }: { readonly id: string }): Promise<UpstreamAnswer> {
        seen.asked.push(id);
        if (seen.asked.length > 1) return answerOf(Response.json({}));
        if (result === 'aborted') caller.abort();
        return answerWith(result);
      },
    },
  };
  const kind: CallKind<ModelRequest, unknown> = {
    order: 'weighted',
    uses: 'all',
    bodyFor: () => new Uint8Array(),
    whole,
  };
  const alias: Alias = {
    alias: 'svc/a',
    kind: 'chat',
    targets: ids.map(target),
    prices: [],
    ...DEFAULT_BOUNDS.chat,
  };
  async function run() {
    const trying = tryTargets(parts, kind, { alias, endpoint: 'chat/completions' }, caller.signal);
    if (result === 'late') await clock.advance(TIMEOUT_MS);
    return await trying;
  }
  return { run, seen, entries };
}

function answerOf(response: Response): UpstreamAnswer {
  return { status: response.status, contentType: '', body: bodyOf(response) };
}

function answerWith(result: TargetResult): UpstreamAnswer {
  switch (result) {
    case 'connect':
    case 'local':
    case 'broken':
    case 'first-byte-time-out':
    case 'aborted':
      throw Object.assign(new Error(result), { name: 'UpstreamFailure', reason: result });
    case 'broken-off':
      return answerOf(
        new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) })),
      );
    case 'late':
      return answerOf(new Response(new ReadableStream({})));
    case 'unreadable':
      return answerOf(new Response('<html>'));
    default:
      return answerOf(new Response('{}', { status: result }));
  }
}

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

const ALL = ['one', 'two'];
const NEXT = { asked: ALL, askedAlone: ['one'], outcome: 'answered', outcomeAlone: 'failed' } as const;
const STOP = { asked: ['one'], askedAlone: ['one'] } as const;
const FAILED = ['one failure', 'two success'];
const COOLED = ['one cools by', 'two success'];

const ROWS: readonly Row[] = [
  {
    ...{ results: [200, 201, 299], ...STOP, outcome: 'answered', outcomeAlone: 'answered' },
    ...{ breaker: 'success', target: ['one success'] },
  },
  {
    ...{ results: [400, 413, 415, 422], ...STOP },
    ...{ outcome: 'request-refused', outcomeAlone: 'request-refused' },
    ...{ breaker: 'ignored', target: ['one success'] },
  },
  { results: [401, 402, 403, 407, 429], ...NEXT, breaker: 'ignored', target: COOLED },
  { results: [529], ...NEXT, breaker: 'status', target: COOLED },
  { results: [408], ...NEXT, breaker: 'time-out', target: FAILED },
  { results: [301, 307], ...NEXT, breaker: 'ignored', target: FAILED },
  { results: [404, 409, 418, 425, 451], ...NEXT, breaker: 'ignored', target: FAILED },
  { results: [500, 502, 503, 504, 599], ...NEXT, breaker: 'status', target: FAILED },
  { results: ['connect'], ...NEXT, breaker: 'network', target: FAILED },
  { results: ['local'], ...NEXT, breaker: 'ignored', target: ['two success'] },
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

const OF_THE_BODY: readonly TargetResult[] = ['broken-off', 'late', 'unreadable'];

const cases = ROWS.flatMap((row) =>
  row.results.flatMap((result) => [
    { result, reading: 'read whole', whole: WHOLE, ...row },
    ...(OF_THE_BODY.includes(result) ? [] : [{ result, reading: 'taken unread', whole: null, ...row }]),
  ]),
);

describe('A-14 G-36 what the result of a try means, for every model call', () => {
  test.each(cases)('A-14 G-36 $result, $reading', async ({ result, whole, ...row }) => {
    const two = open(result, whole, ALL);
    expect((await two.run()).outcome).toBe(row.outcome);
    expect(two.seen.asked).toEqual([...row.asked]);
    const cooled = (seen: string) => (seen === 'one cools by' ? `one cools by ${result}` : seen);
    expect(two.seen.target).toEqual(row.target.map(cooled));
    expect(two.seen.breaker[0]).toEqual(
      row.breaker === 'success' || row.breaker === 'ignored'
        ? row.breaker
        : { failure: row.breaker === 'status' ? String(result) : row.breaker },
    );
    // Every failed target has its line.
    expect(two.entries.map(({ message }) => message)).toEqual(
      row.target === FAILED || row.target === COOLED ? ['a model target failed'] : [],
    );

    const alone = open(result, whole, ['one']);
    expect((await alone.run()).outcome).toBe(row.outcomeAlone);
    expect(alone.seen.asked).toEqual([...row.askedAlone]);
    expect(alone.seen.breaker).toHaveLength(row.askedAlone.length);
  });

  test('A-14 every row of the table is tried here, and no result is in two rows', () => {
    const tried = new Set(ROWS.flatMap(({ results }) => results.map(ruleFor)));
    expect([...tried]).toEqual([...FAILURE_POLICY]);
    const named = FAILURE_POLICY.flatMap(({ on }) => on);
    expect(new Set(named).size).toBe(named.length);
  });

  test('an answer past its bound is none: the next target is asked', async () => {
    const { run, seen } = open(200, { ...WHOLE, maxBytes: 1 }, ALL);
    expect((await run()).outcome).toBe('failed');
    expect(seen.asked).toEqual(ALL);
  });
});
