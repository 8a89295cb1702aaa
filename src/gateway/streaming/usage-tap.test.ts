import { describe, expect, test } from 'bun:test';
import { createUsageTap, type UsageTap } from './usage-tap.ts';

const ALIAS = 'svc/chat-default';

function openTap(maxEventBytes = 10_000): UsageTap & {
  say(text: string): { text: string | null; done: boolean; broken: string | null };
  finish(): { text: string | null; done: string | null; broken: string | null };
} {
  const tap = createUsageTap({ alias: ALIAS, maxEventBytes });
  const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));
  return {
    ...tap,
    say(text) {
      const { bytes, done, broken } = tap.push(new TextEncoder().encode(text));
      return { text: textOf(bytes), done, broken };
    },
    finish() {
      const { bytes, doneBytes, broken } = tap.end();
      return { text: textOf(bytes), done: textOf(doneBytes), broken };
    },
  };
}

const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const content = (text: string) => chunk({ model: ALIAS, choices: [{ index: 0, delta: { content: text } }] });
const used = (prompt_tokens: number, completion_tokens = 1) => ({ prompt_tokens, completion_tokens });
const counted = (promptTokens: number, completionTokens = 1) => ({
  promptTokens,
  cachedTokens: 0,
  completionTokens,
});
const passed = (text: string | null) => ({ text, done: false, broken: null });
const DONE = 'data: [DONE]\n\n';

describe('an event passes as soon as it is whole', () => {
  test('whole ones at once, several together, a half one never', () => {
    const tap = openTap();
    expect(tap.say(content('a'))).toEqual(passed(content('a')));
    expect(tap.say(content('b') + content('c') + content('d').slice(0, 9))).toEqual(
      passed(content('b') + content('c')),
    );
    expect(tap.say(content('d').slice(9, -1))).toEqual(passed(null));
    expect(tap.say('\n')).toEqual(passed(content('d')));
  });

  test.each([
    ['a comment', ': ping\n\n'],
    ['a comment before data', ': ping\ndata: {"a":1}\n\n'],
    ['other fields', 'event: message\nid: 7\nretry: 10\ndata: {"a":1}\n\n'],
    ['data that are no JSON', 'data: hello "usage" {\n\n'],
    ['data that are no object', 'data: [1,{"model":"a"}]\n\n'],
    ['no data at all', 'data:\n\n'],
    ['an error that is none', 'data: {"error":null,"choices":[]}\n\n'],
    ['an empty line', '\n'],
  ])('%s as it is', (_, event) => {
    expect(openTap().say(event)).toEqual(passed(event));
  });

  test('data of several lines are read as one and stamped where they stand', () => {
    const tap = openTap();
    const event = (model: string, provider: string) =>
      `data: {"id":"ü",\ndata: "model":\nid: 4\ndata:${model},"provider":${provider},\ndata: "usage":{"prompt_tokens":\ndata: 5}}\n\n`;
    const stamp = JSON.stringify(ALIAS);
    expect(tap.say(event('"gpt-x"', '"P"'))).toEqual(passed(event(stamp, stamp)));
    expect(tap.usage()).toEqual(counted(5, 0));
  });

  test('an object that is cut short names no provider', () => {
    const tap = openTap();
    expect(tap.say('data: {"model":"gpt-x","usage":{"prompt_tokens":5},"choices":[\n\n')).toEqual(
      passed(`data: {"model":"${ALIAS}","usage":{"prompt_tokens":5},"choices":[\n\n`),
    );
    expect(tap.usage()).toBeNull();
  });
});

describe('G-30 usage counts wherever it stands', () => {
  test.each([
    ['without choices', [content('a'), chunk({ choices: [], usage: used(7) }), DONE]],
    ['with a choice', [content('a'), chunk({ usage: used(7), choices: [{ delta: {} }] }), DONE]],
    ['without [DONE]', [content('a'), chunk({ choices: [], usage: used(7) })]],
    ['after [DONE]', [content('a'), DONE, chunk({ choices: [], usage: used(7) })]],
    ['before more content', [chunk({ usage: used(7) }), content('a'), DONE]],
    ['the last one', [chunk({ usage: used(5) }), chunk({ usage: used(7) }), DONE]],
    ['null after it', [chunk({ usage: used(7) }), chunk({ usage: null }), DONE]],
    ['what is none after it', [chunk({ usage: used(7) }), chunk({ usage: { total_tokens: 9 } }), DONE]],
    ['the top before a choice', [chunk({ usage: used(7) }), chunk({ choices: [{ usage: used(9) }] }), DONE]],
    ['in a choice alone', [content('a'), chunk({ choices: [{ usage: used(7) }] }), DONE]],
    [
      'in a choice, and there nonsense after it',
      [chunk({ choices: [{ usage: used(7) }] }), chunk({ choices: [{ usage: used(-1) }] }), DONE],
    ],
    ['in an event that lacks its blank line', [content('a'), chunk({ usage: used(7) }).trimEnd()]],
  ])('%s', (_, events) => {
    const tap = openTap();
    for (const event of events) expect(tap.say(event).broken).toBeNull();
    expect(tap.finish().broken).toBeNull();
    expect(tap.usage()).toEqual(counted(7));
  });

  test('explicit zeros are usage', () => {
    const tap = openTap();
    tap.say(chunk({ usage: used(0, 0) }));
    expect(tap.usage()).toEqual(counted(0, 0));
  });

  test('it is known before the stream has ended, for a client that leaves then', () => {
    const tap = openTap();
    tap.say(chunk({ usage: used(7) }) + content('a').slice(0, 20));
    expect(tap.usage()).toEqual(counted(7));
  });
});

describe('G-31 a stream without usage has none', () => {
  test.each([
    ['only null', chunk({ usage: null })],
    ['only in a text', content('"usage":{"prompt_tokens":7}')],
    ['only in a tool call', chunk({ choices: [{ delta: { usage: used(7) } }] })],
    ['a total alone', chunk({ usage: { total_tokens: 7 } })],
    ['negative', chunk({ usage: used(-7) })],
    ['in a comment', `: ${chunk({ usage: used(7) })}`],
  ])('%s', (_, event) => {
    const tap = openTap();
    tap.say(event + DONE);
    expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
    expect(tap.usage()).toBeNull();
  });

  test('what the model wrote until then is counted, for an estimate', () => {
    const tap = openTap();
    tap.say(
      content('ü"') + chunk({ choices: [{ delta: { tool_calls: [{ function: { arguments: '{}' } }] } }] }),
    );
    tap.say(chunk({ choices: [{ text: 'abc', finish_reason: 'stop' }], id: 'content' }));
    tap.say(content('not whole yet').slice(0, -1));
    expect(tap.contentBytes()).toBe(4 + 2 + 3);
  });
});

describe('[DONE] is held back until the end', () => {
  test('what comes after it goes out before it', () => {
    const tap = openTap();
    expect(tap.say(content('a') + DONE)).toEqual({ text: content('a'), done: true, broken: null });
    const usage = chunk({ model: ALIAS, choices: [], usage: used(7) });
    expect(tap.say(`: bye\n\n${usage}`)).toEqual({ text: `: bye\n\n${usage}`, done: true, broken: null });
    expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
  });

  test.each([
    ['its line end cut in two', ['data: [DONE]\r\n\r', '\n'], 'data: [DONE]\r\n\r\n'],
    ['without its blank line', ['data: [DONE]\n'], DONE],
    ['without any line end', ['data: [DONE]'], DONE],
    ['twice', [DONE, DONE], DONE + DONE],
    ['never', [content('a')], null],
  ])('%s', (_, chunks, done) => {
    const tap = openTap();
    for (const text of chunks) tap.say(text);
    expect(tap.finish()).toEqual({ text: null, done, broken: null });
  });
});

describe('G-30 G-38 an upstream that breaks the stream', () => {
  test.each([
    ['an error', chunk({ error: { message: 'The engine stopped', code: 500 } })],
    ['an error as text', chunk({ error: 'overloaded' })],
    ['an error beside choices', chunk({ model: 'gpt-x', choices: [{ finish_reason: 'error' }], error: {} })],
    ['an event of that name', 'event: error\ndata: {"message":"The engine stopped"}\n\n'],
  ])('%s: it and what follows it do not pass', (_, event) => {
    const tap = openTap();
    const before = chunk({ model: ALIAS, usage: used(7) });
    expect(tap.say(before + event + content('b'))).toEqual({
      text: before,
      done: false,
      broken: 'error-event',
    });
    expect(tap.say(content('c') + DONE)).toEqual({ text: null, done: false, broken: 'error-event' });
    expect(tap.finish()).toEqual({ text: null, done: null, broken: 'error-event' });
  });

  test('an error after [DONE], or without its blank line, is one too', () => {
    const tap = openTap();
    tap.say(DONE);
    tap.say(chunk({ error: 'late' }).trimEnd());
    expect(tap.finish()).toEqual({ text: null, done: null, broken: 'error-event' });
  });

  test.each([
    ['half an object', 'data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9}'],
    ['half a name', 'dat'],
    ['half of [DONE]', 'data: [DON'],
    ['half a text', 'data: {"choices":[{"delta":{"content":"a'],
    ['a comment and half a name', ': ping\nda'],
  ])('a body that ends within an event is cut off, and that half does not pass: %s', (_, half) => {
    const tap = openTap();
    tap.say(chunk({ usage: used(7) }) + half);
    expect(tap.finish()).toEqual({ text: null, done: null, broken: 'cut-off' });
  });

  test('after [DONE], and of a comment, a missing half is not missed', () => {
    for (const end of [`${DONE}data: {"ch`, `${DONE}: pi`]) {
      const tap = openTap();
      tap.say(end);
      expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
    }
    const tap = openTap();
    tap.say(`${content('a')}: pi`);
    expect(tap.finish()).toEqual({ text: null, done: null, broken: null });
  });

  test('a whole event that lacks only its blank line is given one', () => {
    const tap = openTap();
    tap.say(DONE + content('a').trimEnd());
    expect(tap.finish()).toEqual({ text: content('a'), done: DONE, broken: null });
  });

  test('an event past the bound breaks the stream, whole or not', () => {
    for (const large of [content('x'.repeat(200)), content('x'.repeat(200)).slice(0, -2)]) {
      const tap = openTap(200);
      expect(tap.say(content('a') + large)).toEqual({ text: content('a'), done: false, broken: 'too-large' });
      expect(tap.say(content('b')).text).toBeNull();
      expect(tap.finish()).toEqual({ text: null, done: null, broken: 'too-large' });
    }
    const tap = openTap(200);
    const large = content('x'.repeat(200));
    expect(tap.say(large.slice(0, 150)).broken).toBeNull();
    expect(tap.say(large.slice(150)).broken).toBe('too-large');
    expect(tap.finish()).toEqual({ text: null, done: null, broken: 'too-large' });
  });
});
