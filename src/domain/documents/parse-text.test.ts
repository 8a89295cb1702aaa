import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { plainModels } from '../../../test/doubles/plain-models.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { UpstreamAnswer } from '../../ports/model-upstream.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS } from '../models/aliases.ts';
import type { DocumentEngine, ParsedText } from './document-engine.ts';
import { createTextParser } from './parse-text.ts';

const FACTS: ParsedText['document'] = { kind: 'cv', language: 'en', confidence: 1, warnings: [] };
const parsed = (name: string, values = 1): ParsedText => ({
  document: FACTS,
  value: { name },
  evidence: Array.from({ length: values }, () => ({ path: 'name', start: 0, end: 1, confidence: 1 })),
});

/** An answer is right by its first word, and says the name that the record then has. */
const engine: DocumentEngine = {
  read: () => parsed('embedded'),
  question: () => ({
    messages: [{ role: 'user', content: 'read' }],
    responseFormat: { type: 'json_schema' },
    plainMessages: [{ role: 'user', content: 'read by the schema' }],
  }),
  repair: (said, answer, problems) => [...said, { role: 'user', content: `${answer}: ${problems.join()}` }],
  check(_kind, _text, answer) {
    if (answer.startsWith('right')) return { outcome: 'checked', parsed: parsed(answer), problems: [] };
    if (answer.startsWith('nearly'))
      return {
        outcome: 'checked',
        parsed: parsed(answer, answer.endsWith('more') ? 2 : 1),
        problems: ['a date'],
      };
    return { outcome: 'wrong', problems: ['no JSON'] };
  },
};

const target = (id: string): AliasTarget => ({
  id,
  baseUrl: `https://${id}.example/v1`,
  model: id,
  apiKey: null,
  weight: 1,
});

type Script = (targetId: string, asked: number) => Response | Promise<Response>;

function open(script: Script, targets = [target('one')], rejected: readonly string[] = []) {
  const clock = createManualClock();
  const asked: string[] = [];
  const sent: { readonly messages: readonly { content: string }[]; readonly response_format?: unknown }[] =
    [];
  const reported: string[] = [];
  const parser = createTextParser({
    models: plainModels(() => targets),
    upstream: {
      async send({ id }, request): Promise<UpstreamAnswer> {
        asked.push(id);
        sent.push(JSON.parse(new TextDecoder().decode(request.body)));
        const response = await script(id, asked.length);
        return { status: response.status, contentType: '', body: bodyOf(response) };
      },
    },
    breakers: {
      enter: (name) =>
        rejected.includes(name)
          ? { outcome: 'rejected', retryAfterMs: 1 }
          : {
              outcome: 'enter',
              report: (result) =>
                void reported.push(`${name} ${typeof result === 'string' ? result : 'failure'}`),
            },
    },
    secrets: createSystemSecrets(),
    clock,
    log: createSilentLog(),
    answerTimeoutMs: 60_000,
    engine,
    countTokens: async (text) => text.length,
  });
  const alias: Alias = {
    alias: 'svc/extract-default',
    kind: 'extract',
    targets,
    prices: [],
    ...DEFAULT_BOUNDS.extract,
  };
  const parse = (mayAsk = true) =>
    parser.parse({
      ...{ companyId: 'c1', kind: 'cv', text: 'abc', alias, mayAsk },
      signal: new AbortController().signal,
    });
  return { parse, asked, sent, reported, clock };
}

const usage = { prompt_tokens: 10, completion_tokens: 5 };
const says = (content: string, more: object = { usage }) =>
  Response.json({ choices: [{ message: { content } }], ...more });

const noFormat = () =>
  Response.json(
    { error: { message: "'response_format' of type 'json_schema' is not supported with this model." } },
    { status: 400 },
  );

describe('a text on its way to a record', () => {
  test('G-7 an answer that is nearly right is repaired once, and the better one of the two counts', async () => {
    const better = open((_id, number) => says(number === 1 ? 'nearly' : 'right second'));
    expect(await better.parse()).toMatchObject({
      engine: 'model',
      parsed: { value: { name: 'right second' } },
      tokens: { promptTokens: 20, completionTokens: 10 },
    });
    const worse = open((_id, number) => says(number === 1 ? 'nearly first' : 'prose'));
    expect(await worse.parse()).toMatchObject({
      engine: 'model',
      parsed: { value: { name: 'nearly first' } },
    });
    const gone = open((_id, number) => (number === 1 ? says('nearly') : new Response('', { status: 500 })));
    expect(await gone.parse()).toMatchObject({ engine: 'model', tokens: { promptTokens: 10 } });
    expect([better.asked.length, worse.asked.length, gone.asked.length]).toEqual([2, 2, 2]);
  });

  test('G-7 a target that refuses the format gets the schema in words, and is remembered for an hour', async () => {
    const { parse, sent, reported, clock } = open((_id, number) =>
      sent[number - 1]?.response_format === undefined ? says('right') : noFormat(),
    );
    expect(await parse()).toMatchObject({ engine: 'model', tokens: { promptTokens: 10 } });
    expect(
      sent.map(({ messages, response_format }) => [messages[0]?.content, response_format !== undefined]),
    ).toEqual([
      ['read', true],
      ['read by the schema', false],
    ]);
    await parse();
    expect(sent).toHaveLength(3);
    await clock.advance(60 * 60 * 1000);
    await parse();
    expect(sent).toHaveLength(5);
    expect(reported.some((line) => line.includes('failure'))).toBe(false);
  });

  test.each([
    { message: { content: null, refusal: 'I cannot help with that.' } },
    { message: { content: '' }, finish_reason: 'content_filter' },
  ])(
    'G-28 a model that declines is no failure of its provider: the embedded engine reads, free (%j)',
    async (choice) => {
      const { parse, asked, reported } = open(() => Response.json({ choices: [choice], usage }));
      expect(await parse()).toMatchObject({ engine: 'embedded', tokens: null, reason: 'upstream-refused' });
      expect(asked).toHaveLength(1);
      expect(reported.some((line) => line.includes('failure'))).toBe(false);
    },
  );

  test('G-7 of two answers with problems the one that the text bears out more of counts', async () => {
    const { parse } = open((_id, number) => says(number === 1 ? 'nearly more' : 'nearly less'));
    expect(await parse()).toMatchObject({ engine: 'model', parsed: { value: { name: 'nearly more' } } });
  });

  test('G-28 wrong twice: asked no third time, the embedded engine stands in, free', async () => {
    const { parse, asked } = open(() => says('prose'));
    expect(await parse()).toMatchObject({ engine: 'embedded', tokens: null, reason: 'answer-unusable' });
    expect(asked).toHaveLength(2);
  });

  test('G-31 an answer without usage is used and not charged', async () => {
    const { parse } = open(() => says('right', {}));
    expect(await parse()).toMatchObject({ engine: 'model', tokens: null, reason: 'no-usage' });
  });

  test('A-14 the next provider is called when one fails, and both are reported', async () => {
    const { parse, asked, reported } = open(
      (id) => (id === 'one' ? new Response('', { status: 503 }) : says('right')),
      [target('one'), target('two')],
    );
    expect(await parse()).toMatchObject({ engine: 'model', targetId: 'two' });
    expect([asked, reported]).toEqual([
      ['one', 'two'],
      ['one.example failure', 'two.example success'],
    ]);
  });

  test('G-36 a request that is rejected as invalid is sent to no other provider, and does not count against the first', async () => {
    for (const status of [400, 413, 415, 422]) {
      const { parse, asked, reported } = open(
        () => new Response('', { status }),
        [target('one'), target('two')],
      );
      expect(await parse()).toMatchObject({
        ...{ engine: 'embedded', tokens: null, reason: `upstream-${status}`, targetId: 'one' },
      });
      expect([asked, reported]).toEqual([['one'], ['one.example ignored']]);
    }
  });

  test('A-14 with an open breaker no provider is called, and the embedded engine answers at once', async () => {
    const { parse, asked } = open(() => says('right'), [target('one')], ['one.example']);
    expect(await parse()).toMatchObject({
      engine: 'embedded',
      tokens: null,
      reason: 'upstream-breaker-open',
    });
    expect(asked).toEqual([]);
  });

  test('A-14 an answer that never ends is given up after its time, and counts as a failure', async () => {
    const { parse, reported, clock } = open(() => new Response(new ReadableStream({})));
    const parsing = parse();
    await clock.advance(60_000);
    expect(await parsing).toMatchObject({ engine: 'embedded', tokens: null, reason: 'upstream-late' });
    expect(reported).toEqual(['one.example failure']);
  });

  test('G-28 without a provider the embedded engine is the model and its tokens are charged; without a payer, nothing is', async () => {
    const embedded = { ...target('embedded'), baseUrl: null };
    const { parse, asked } = open(() => says('right'), [embedded]);
    const tokens = { promptTokens: 3, cachedTokens: 0, completionTokens: '{"name":"embedded"}'.length };
    expect(await parse()).toMatchObject({ engine: 'embedded', tokens, reason: null });
    expect(await parse(false)).toMatchObject({ engine: 'embedded', tokens: null, reason: 'not-payable' });
    expect(asked).toEqual([]);
  });
});
