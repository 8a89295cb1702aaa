import { describe, expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { type RecordedStream, readRecordedStream, recordedStreams } from '../../../test/recorded/streams.ts';
import { createUsageTap, type TapEnd, type TapOutput, type UsageTap } from './usage-tap.ts';

const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const used = (prompt_tokens: number, completion_tokens = 1) => ({ prompt_tokens, completion_tokens });
const counted = (promptTokens: number, completionTokens = 1) => ({
  promptTokens,
  cachedTokens: 0,
  completionTokens,
});
const passed = (text: string | null) => ({ text, done: false, broken: null });
const DONE = 'data: [DONE]\n\n';
const LINE_ENDS = { '\\n': '\n', '\\r\\n': '\r\n', '\\r': '\r' };

interface Heard {
  readonly text: string;
  readonly done: string | null;
  readonly broken: TapEnd['broken'];
  readonly usage: unknown;
  readonly contentBytes: number;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : utf8.decode(bytes));

const WRITTEN = ['content', 'text', 'arguments', 'reasoning', 'reasoning_content', 'refusal'];
const MODEL = '"gpt-\\"x\\"-ü"';

interface MadeUp {
  readonly text: string;
  readonly isDone?: boolean;
  readonly promptTokens?: number;
}

/** The bytes of all texts by those names, as they stand in JSON. */
function writtenIn(events: readonly string[]): number {
  let written = 0;
  for (const line of events.join('\n').split('\n')) {
    const object = /^data: ?(\{.*)/.exec(line)?.[1];
    if (object === undefined) continue;
    JSON.parse(object, (name, value) => {
      if (WRITTEN.includes(name) && typeof value === 'string') {
        written += new TextEncoder().encode(JSON.stringify(value)).length - 2;
      }
      return value;
    });
  }
  return written;
}

function bytesOf(stream: RecordedStream, lineEnd: string): Uint8Array {
  const text = readRecordedStream(stream.name).replaceAll('\r\n', '\n').replaceAll('\n', lineEnd);
  return new TextEncoder().encode(text);
}

function anyEvent(random: SeededRandom, lineEnd: () => string): MadeUp {
  const word = () => JSON.stringify(random.text(random.below(40), 'ab"\\{}[]:,\n ü🚏'));
  const spread = (json: string) => json.split('\n').join(`${lineEnd()}data:`);
  const framed = (json: string) => `data:${random.pick(['', ' '])}${json}${lineEnd()}${lineEnd()}`;
  const promptTokens = random.below(100);
  const usage = `{"prompt_tokens":${promptTokens},"completion_tokens":1}`;
  return random.pick<() => MadeUp>([
    () => ({ text: framed(`{"model":${MODEL},"choices":[{"delta":{"content":${word()}}}],"usage":null}`) }),
    () => ({ text: framed(`{"choices":[{"text":${word()}}],"model":${MODEL}}`) }),
    () => ({ text: framed(`{"usage":${usage},"model":${MODEL},"choices":[]}`), promptTokens }),
    () => ({
      text: framed(spread(`{\n"model"\n: ${MODEL},\n"usage":\n${usage},\n"x":${word()}}`)),
      promptTokens,
    }),
    () => ({ text: `: ${random.text(5)}${lineEnd()}${lineEnd()}` }),
    () => ({ text: `id: 1${lineEnd()}event: message${lineEnd()}${framed(`{"model":${MODEL}}`)}` }),
    () => ({ text: `retry: 5${lineEnd()}${lineEnd()}` }),
    () => ({ text: framed(`not JSON, "usage" ${random.text(5)}`) }),
    () => ({ text: framed('[DONE]'), isDone: true }),
  ])();
}

function cutAnywhere(random: SeededRandom, bytes: Uint8Array): Uint8Array[] {
  const most = random.pick([1, 3, 20, 200, 2_000]);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random.below(most + 1);
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  return chunks;
}

describe('the tap', () => {
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
  const content = (text: string) =>
    chunk({ model: ALIAS, choices: [{ index: 0, delta: { content: text } }] });

  describe('an event passes as soon as it is complete', () => {
    test('complete ones at once, several together, a partial one never', () => {
      const tap = openTap();
      expect(tap.say(content('a'))).toEqual(passed(content('a')));
      expect(tap.say(content('b') + content('c') + content('d').slice(0, 9))).toEqual(
        passed(content('b') + content('c')),
      );
      expect(tap.say(content('d').slice(9, -1))).toEqual(passed(null));
      expect(tap.say('\n')).toEqual(passed(content('d')));
    });

    test.each([
      ['a comment before data', ': ping\ndata: {"a":1}\n\n'],
      ['data that are no object', 'data: [1,{"model":"a"}]\n\n'],
      ['no data at all', 'data:\n\n'],
      ['an error that is none', 'data: {"error":null,"choices":[]}\n\n'],
    ])('%s unchanged', (_, event) => {
      expect(openTap().say(event)).toEqual(passed(event));
    });

    test('a truncated object has no name of the provider', () => {
      const tap = openTap();
      expect(tap.say('data: {"model":"gpt-x","usage":{"prompt_tokens":5},"choices":[\n\n')).toEqual(
        passed(`data: {"model":"${ALIAS}","usage":{"prompt_tokens":5},"choices":[\n\n`),
      );
      expect(tap.usage()).toBeNull();
    });
  });

  describe('G-30 usage counts at any position', () => {
    test.each([
      ['after [DONE]', [content('a'), DONE, chunk({ choices: [], usage: used(7) })]],
      ['null after it', [chunk({ usage: used(7) }), chunk({ usage: null }), DONE]],
      ['what is none after it', [chunk({ usage: used(7) }), chunk({ usage: { total_tokens: 9 } }), DONE]],
      [
        'the top before a choice',
        [chunk({ usage: used(7) }), chunk({ choices: [{ usage: used(9) }] }), DONE],
      ],
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

    test.each([
      ['in every chunk', [content('a'), chunk({ usage: { ...used(8, 9), total_tokens: 500 } }), DONE]],
      ['in a choice', [chunk({ choices: [{ usage: { ...used(8, 9), total_tokens: 500 } }] }), DONE]],
    ])('reasoning in the total counts if the target reports it so, usage %s', (_, events) => {
      const read = (reasoning: 'in-total' | 'by-numbers') => {
        const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 10_000, reasoning });
        for (const event of events) tap.push(new TextEncoder().encode(event));
        return tap.usage();
      };
      expect([read('in-total'), read('by-numbers')]).toEqual([counted(8, 492), counted(8, 9)]);
    });
  });

  test.each([
    ['in parts', [{ prompt_tokens: 8 }, { completion_tokens: 9, prompt_tokens: null }]],
    ['as counts so far, and zeros at the end', [used(8, 2), used(8, 9), used(0, 0)]],
    ['with an invalid one at the end', [used(8, 9), { prompt_tokens: -1, completion_tokens: '9' }]],
  ])('G-28 usage that chunks report several times is the highest of each count: %s', (_, reports) => {
    const tap = openTap();
    for (const usage of reports) tap.say(chunk({ usage }));
    tap.say(DONE);
    expect(tap.usage()).toEqual(counted(8, 9));
  });

  describe('G-31 a stream without usage has none', () => {
    test.each([
      ['only in a text', content('"usage":{"prompt_tokens":7}')],
      ['only in a tool call', chunk({ choices: [{ delta: { usage: used(7) } }] })],
      ['a total alone', chunk({ usage: { total_tokens: 7 } })],
      ['in a comment', `: ${chunk({ usage: used(7) })}`],
    ])('%s', (_, event) => {
      const tap = openTap();
      tap.say(event + DONE);
      expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
      expect(tap.usage()).toBeNull();
    });

    test('the output of the model so far is counted, for an estimate', () => {
      const tap = openTap();
      tap.say(
        content('ü"') + chunk({ choices: [{ delta: { tool_calls: [{ function: { arguments: '{}' } }] } }] }),
      );
      tap.say(chunk({ choices: [{ text: 'abc', finish_reason: 'stop' }], id: 'content' }));
      tap.say(content('not whole yet').slice(0, -1));
      expect(tap.contentBytes()).toBe(4 + 2 + 3);
    });
  });

  describe('[DONE] is delayed until the end', () => {
    test('events after it are sent before it', () => {
      const tap = openTap();
      expect(tap.say(content('a') + DONE)).toEqual({ text: content('a'), done: true, broken: null });
      const usage = chunk({ model: ALIAS, choices: [], usage: used(7) });
      expect(tap.say(`: bye\n\n${usage}`)).toEqual({ text: `: bye\n\n${usage}`, done: true, broken: null });
      expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
    });

    test.each([
      ['its line end cut in two', ['data: [DONE]\r\n\r', '\n'], 'data: [DONE]\r\n\r\n'],
      ['without any line end', ['data: [DONE]'], DONE],
    ])('%s', (_, chunks, done) => {
      const tap = openTap();
      for (const text of chunks) tap.say(text);
      expect(tap.finish()).toEqual({ text: null, done, broken: null });
    });
  });

  describe('G-30 G-38 an upstream that breaks the stream', () => {
    test.each([
      ['an error', chunk({ error: { message: 'The engine stopped', code: 500 } })],
      [
        'an error beside choices',
        chunk({ model: 'gpt-x', choices: [{ finish_reason: 'error' }], error: {} }),
      ],
      ['an event of that name', 'event: error\ndata: {"message":"The engine stopped"}\n\n'],
    ])('%s: neither it nor later events pass', (_, event) => {
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
      ['half of [DONE]', 'data: [DON'],
      ['a comment and half a name', ': ping\nda'],
    ])('a body that ends within an event is cut off, and the partial event does not pass: %s', (_, half) => {
      const tap = openTap();
      tap.say(chunk({ usage: used(7) }) + half);
      expect(tap.finish()).toEqual({ text: null, done: null, broken: 'cut-off' });
    });

    test('after [DONE], and in a comment, a missing part is ignored', () => {
      for (const end of [`${DONE}data: {"ch`, `${DONE}: pi`]) {
        const tap = openTap();
        tap.say(end);
        expect(tap.finish()).toEqual({ text: null, done: DONE, broken: null });
      }
      const tap = openTap();
      tap.say(`${content('a')}: pi`);
      expect(tap.finish()).toEqual({ text: null, done: null, broken: null });
    });

    test('an event past the bound breaks the stream, complete or not', () => {
      for (const large of [content('x'.repeat(200)), content('x'.repeat(200)).slice(0, -2)]) {
        const tap = openTap(200);
        expect(tap.say(content('a') + large)).toEqual({
          text: content('a'),
          done: false,
          broken: 'too-large',
        });
        expect(tap.say(content('b')).text).toBeNull();
        expect(tap.finish()).toEqual({ text: null, done: null, broken: 'too-large' });
      }
    });
  });
});

describe('recorded streams', () => {
  const ALIAS = 'svc/chat-"default"';

  function listen(chunks: Iterable<Uint8Array>): Heard {
    const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 4_096 });
    let text = '';
    let last: TapOutput | null = null;
    for (const chunk of chunks) {
      last = tap.push(chunk);
      // Decoded piece by piece and strictly: half a character would throw.
      text += textOf(last.bytes) ?? '';
    }
    const end = tap.end();
    text += textOf(end.bytes) ?? '';
    expect(last?.done).toBe(end.doneBytes !== null);
    return {
      text,
      done: textOf(end.doneBytes),
      broken: end.broken,
      usage: tap.usage(),
      contentBytes: tap.contentBytes(),
    };
  }

  /** What must come out, made in another way: by names in the text. */
  function expectedOf(stream: RecordedStream, lineEnd: string): Heard {
    const blank = '\n\n';
    const events = readRecordedStream(stream.name).replaceAll('\r\n', '\n').split(blank).slice(0, -1);
    const passing = stream.errorAt === null ? events : events.slice(0, stream.errorAt);
    const isDone = (event: string) => /^data: ?\[DONE]$/.test(event);
    const framed = (list: readonly string[]) =>
      list.map((event) => `${event}${blank}`.replaceAll('\n', lineEnd)).join('');
    let text = framed(passing.filter((event) => !isDone(event)));
    for (const name of stream.providerNames) {
      for (const field of ['model', 'provider']) {
        for (const colon of [':', ': ']) {
          text = text.replaceAll(
            `"${field}"${colon}${JSON.stringify(name)}`,
            `"${field}"${colon}${JSON.stringify(ALIAS)}`,
          );
        }
      }
    }
    return {
      text,
      done: stream.hasDone ? framed(passing.filter(isDone)) : null,
      broken: stream.errorAt === null ? null : 'error-event',
      usage: stream.usage,
      contentBytes: writtenIn(passing),
    };
  }

  describe.each(recordedStreams)('$name', (stream) => {
    test.each(Object.entries(LINE_ENDS))(
      'G-13 G-16 G-30 cut in two at every byte, lines ending in %s',
      (_, lineEnd) => {
        const bytes = bytesOf(stream, lineEnd);
        const expected = expectedOf(stream, lineEnd);
        for (let cut = 0; cut <= bytes.length; cut += 1) {
          const heard = listen([bytes.subarray(0, cut), bytes.subarray(cut)]);
          if (!Bun.deepEquals(heard, expected)) expect({ cut, ...heard }).toEqual({ cut, ...expected });
        }
      },
    );
  });
});

describe('generated streams', () => {
  /** In no made-up event, so that the stamps can be found. */
  const ALIAS = 'svc/\u2605';
  const STAMP = JSON.stringify(ALIAS);

  test('G-13 G-16 G-30 any stream in any chunks: every event, in order, with its line ends, rewritten', () => {
    for (let seed = 1; seed <= 1_500; seed += 1) {
      const random = createSeededRandom(seed);
      const kinds = random.pick([['\n'], ['\r\n'], ['\r'], ['\n', '\r\n'], ['\r\n', '\r']]);
      // Never \r and \n as line ends of their own in one stream: side by side they would be a single one.
      const lineEnd = () => random.pick(kinds);
      const events = Array.from({ length: random.below(12) }, () => anyEvent(random, lineEnd));
      const bytes = new TextEncoder().encode(events.map(({ text }) => text).join(''));

      const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 10_000 });
      const strict = new TextDecoder('utf-8', { fatal: true });
      let text = '';
      for (const chunk of cutAnywhere(random, bytes)) {
        const { bytes: whole, broken } = tap.push(chunk);
        expect(broken).toBeNull();
        if (whole !== null) text += strict.decode(whole);
        // Of a chunk that has been answered the tap keeps copies at most.
        chunk.fill(0x2a);
      }
      const { bytes: rest, doneBytes, broken } = tap.end();
      expect({ rest, broken }).toEqual({ rest: null, broken: null });

      const passing = events.filter(({ isDone }) => isDone !== true);
      const held = events.filter(({ isDone }) => isDone === true);
      const reported = events.flatMap(({ promptTokens }) => promptTokens ?? []);
      expect({ seed, text }).toEqual({
        seed,
        text: passing.map((event) => event.text.replace(MODEL, STAMP)).join(''),
      });
      expect(doneBytes === null ? '' : strict.decode(doneBytes)).toBe(
        held.map((event) => event.text).join(''),
      );
      expect(tap.usage()?.promptTokens).toBe(reported.length === 0 ? undefined : Math.max(...reported));
    }
  });
});
