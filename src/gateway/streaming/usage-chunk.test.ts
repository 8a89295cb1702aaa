import { describe, expect, test } from 'bun:test';
import type { UsageChunkForm } from '../json/usage-chunk.ts';
import { createUsageTap } from './usage-tap.ts';

const ALIAS = 'svc/chat-default';
const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const usage = { prompt_tokens: 7, completion_tokens: 1 };
const content = (text: string) =>
  chunk({ model: ALIAS, choices: [{ delta: { content: text } }], usage: null });
const last = chunk({ model: ALIAS, choices: [], usage });
const DONE = 'data: [DONE]\n\n';
const LINE_ENDS = { '\\n': '\n', '\\r\\n': '\r\n', '\\r': '\r' };

/** What the client gets where the stream comes in these pieces. */
function heard(pieces: Iterable<Uint8Array>, usageChunk: UsageChunkForm = 'hidden') {
  const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 1_000_000, usageChunk });
  const out: Uint8Array[] = [];
  const keep = (bytes: Uint8Array | null) => void (bytes === null || out.push(bytes.slice()));
  for (const piece of pieces) {
    const { bytes, broken } = tap.push(piece);
    keep(bytes);
    if (broken !== null) break;
  }
  const { bytes, doneBytes } = tap.end();
  keep(bytes);
  keep(doneBytes);
  return { text: Buffer.concat(out).toString('utf8'), usage: tap.usage() };
}

const whole = (text: string) => [new TextEncoder().encode(text)];
const counted = { promptTokens: 7, cachedTokens: 0, completionTokens: 1 };

const NOT_PART_OF_IT = [
  ['usage beside a choice', chunk({ choices: [{ delta: {}, finish_reason: 'stop' }], usage })],
  ['usage that is null', chunk({ choices: [], usage: null })],
  ['no usage', chunk({ choices: [], prompt_filter_results: [] })],
  ['usage in a choice', chunk({ choices: [{ usage }] })],
  ['a number as usage', chunk({ choices: [], usage: 7 })],
  ['text about it', chunk({ choices: [{ delta: { content: '"choices":[],"usage":{}' } }] })],
  ['what is cut short', 'data: {"choices":[],"usage":{"prompt_tokens":7}\n\n'],
] as const;

describe('G-13 the usage chunk of a client that did not ask for it, given an empty choice', () => {
  const DELTA = '[{"index":0,"delta":{},"finish_reason":null}]';
  const shown = (events: readonly string[], form: UsageChunkForm = 'empty-delta') =>
    heard(whole(events.join('')), form);

  test('at every split of the stream, its other bytes as they came', () => {
    const event = `data: {"id":1e400, "choices" : [ ] ,"model":"${ALIAS}","usage":${JSON.stringify(usage)}}\n\n`;
    const expected = content('ü') + event.replace('[ ]', DELTA) + DONE;
    const bytes = new TextEncoder().encode(content('ü') + event + DONE);
    for (let first = 0; first <= bytes.length; first += 1) {
      const { text, usage: read } = heard([bytes.slice(0, first), bytes.slice(first)], 'empty-delta');
      expect(text).toBe(expected);
      expect(read).toEqual(counted);
    }
  });

  test('as the endpoint of completions writes a choice', () => {
    expect(shown([last, DONE], 'empty-text').text).toBe(
      last.replace('[]', '[{"index":0,"text":"","finish_reason":null,"logprobs":null}]') + DONE,
    );
  });

  test.each([
    ['without choices', chunk({ usage }), `data: {"choices":${DELTA},"usage":`],
    ['with choices that are null', chunk({ usage, choices: null }), `"choices":${DELTA}}\n\n`],
    ['with escaped names', chunk({ usage, CHOICES: 1 }).replace('"CHOICES":1', '"\\u0063hoices":[]'), DELTA],
    [
      'over several lines',
      `data: {"usage":${JSON.stringify(usage)},"choices":[\ndata: ],"x":1}\n\n`,
      `"choices":${DELTA},"x":1}`,
    ],
  ])('%s', (_, event, expected) => {
    const { text } = shown([event, DONE]);
    expect(text).toContain(expected);
    expect(JSON.parse(text.slice('data: '.length, text.indexOf('\n\n')))).toMatchObject({
      choices: JSON.parse(DELTA),
      usage,
    });
  });

  test('beside the name of the provider’s model and costs, which are replaced and removed', () => {
    const event = chunk({ usage: { ...usage, cost: 3 }, choices: [], model: 'provider-model-x' });
    const options = { alias: ALIAS, maxEventBytes: 1_000_000, hidesCosts: true };
    const tap = createUsageTap({ ...options, usageChunk: 'empty-delta' });
    const { bytes } = tap.push(new TextEncoder().encode(event));
    expect(Buffer.from(bytes ?? []).toString()).toBe(
      chunk({ usage, choices: JSON.parse(DELTA), model: ALIAS }),
    );
  });

  test.each(NOT_PART_OF_IT)('%s stays as it is', (_, event) => {
    expect(shown([event, DONE]).text).toBe(event + DONE);
  });
});

describe('G-13 the usage chunk of a client that did not ask for it, where it is hidden', () => {
  test.each(Object.entries(LINE_ENDS))(
    'is read and dropped at every split of the stream, with %s',
    (_, end) => {
      const text = (...events: string[]) => events.join('').replaceAll('\n', end);
      const bytes = new TextEncoder().encode(text(content('ü'), last, ': ping\n\n', DONE));
      const expected = { text: text(content('ü'), ': ping\n\n', DONE), usage: counted };
      for (let first = 0; first <= bytes.length; first += 1) {
        expect(heard([bytes.slice(0, first), bytes.slice(first)])).toEqual(expected);
      }
      expect(heard(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
    },
  );

  test.each([
    ['before [DONE]', [content('a'), last, DONE]],
    ['after [DONE]', [content('a'), DONE, last]],
    ['without [DONE]', [content('a'), last]],
    ['without its blank line', [content('a'), last.trimEnd()]],
    ['without choices', [content('a'), chunk({ usage }), DONE]],
    ['with choices that are null', [content('a'), chunk({ choices: null, usage }), DONE]],
    [
      'over several lines',
      [content('a'), `data: {"choices":[],\ndata: "usage":${JSON.stringify(usage)}}\n\n`, DONE],
    ],
    [
      'with escaped names',
      [content('a'), `data: {"\\u0063hoices":[],"\\u0075sage":${JSON.stringify(usage)}}\n\n`, DONE],
    ],
  ])('is dropped %s, and nothing else', (_, events) => {
    const expected = events.includes(DONE) ? content('a') + DONE : content('a');
    expect(heard(whole(events.join('')))).toEqual({ text: expected, usage: counted });
  });

  test.each(NOT_PART_OF_IT)('%s is not part of it and passes', (_, event) => {
    expect(heard(whole(event + DONE)).text).toBe(event + DONE);
  });
});
