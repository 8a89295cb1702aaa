import { beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ChatMessage } from '../../../src/adapters/model-upstream/embedded/chat-request.ts';
import {
  loadTokens,
  type Tokens,
  tokenSlices,
} from '../../../src/adapters/model-upstream/embedded/tokens.ts';
import {
  SELF_DESCRIPTION,
  writeAnswer,
} from '../../../src/adapters/model-upstream/embedded/written-answer.ts';

const article =
  'Turnpike is an LLM gateway with billing. It runs as three services in one process. The gateway forwards ' +
  'model calls and counts tokens. Many people like coffee. Billing is done in micro-credits, and the gateway ' +
  'charges each call for its tokens. The weather was fine. Operators can run it on PostgreSQL and Redis.';
const oneSentence = 'Billing is done in micro-credits, and the gateway charges each call for its tokens.';

const never = new AbortController().signal;
const asText = { disallowedSpecial: new Set<string>() };
const texts = [
  '',
  'Hello, world!',
  "It's 12,345.67 € — naïve café, isn't it?\n\n\tDone.",
  '日本語の文章です。とても短い文章。',
  '🙂👩‍👩‍👧 zażółć gęślą jaźń',
  '<|endoftext|> is text, and so is <|im_start|>',
  '{"name":"Jane","list":[1,2,3],"nested":{"a":null}}',
  'const x = (a: number) => a ** 2; // comment',
  '8  25 and 9  31',
];
const long = texts.join(' and then some more words about gateways ').repeat(200);

function message(role: string, text: string, more: Partial<ChatMessage> = {}): ChatMessage {
  return { role, text, name: null, toolCalls: [], toolCallId: null, ...more };
}

function answerTo(...texts: string[]): string {
  const answer = writeAnswer(texts.map((text) => message('user', text)));
  expect(answer.startsWith(`${SELF_DESCRIPTION} `)).toBe(true);
  return answer.slice(SELF_DESCRIPTION.length + 1);
}

describe('the text answer', () => {
  test('describes its abilities where it cannot answer, and repeats the question', () => {
    const answer = answerTo(`What is the capital of ${'France '.repeat(100)}?`);
    expect(answer).toStartWith('I cannot answer that. I can summarise, list, count or repeat');
    expect(answer).toMatch(/You asked: “What is the capital of France France .*…”$/u);
    expect(answer.length).toBeLessThan(500);
    expect(answerTo('   ')).toStartWith('the message is empty');
  });

  test.each([
    ['Say pong', 'pong'],
    ['Please repeat the following text:\nline one\nline two', 'line one\nline two'],
    ["Reply with the single word 'ok'.", 'ok'],
    ['Is the sky blue? Answer with yes or no.', null],
  ])('repeats what it is asked to: %s', (asked, answer) => {
    if (answer === null) expect(answerTo(asked)).toStartWith('I cannot answer that');
    else expect(answerTo(asked)).toBe(answer);
  });

  test.each([
    ['How many words are in "hello big world"?', '3 words.'],
    ['Count all sentences: One. Two! Three?', '3 sentences.'],
    ['List the following: apples, pears and plums', '3 items\n- apples\n- pears\n- plums'],
  ])('counts and lists: %s', (asked, answer) => {
    expect(answerTo(asked)).toBe(answer);
  });

  test.each<string[]>([
    [`Summarise this in one sentence: ${article}`],
    [`${article}\n\nTL;DR in one sentence please`],
    [article, 'Summarise that in one sentence'],
  ])('summarises, wherever the request is: %#', (...asked) => {
    expect(answerTo(...asked)).toBe(oneSentence);
  });

  test('reports what tools answered, by their names', () => {
    const call = { id: 'c1', name: 'get_weather', arguments: '{}' };
    const messages = [
      message('user', 'weather in Paris?'),
      message('assistant', '', { toolCalls: [call] }),
      message('tool', '{"temp":21}', { toolCallId: 'c1' }),
      message('tool', ' ', { toolCallId: 'c2' }),
    ];
    expect(writeAnswer(messages)).toBe(
      `${SELF_DESCRIPTION} get_weather answered: {"temp":21}\nthe tool answered: nothing`,
    );
  });

  test('of a message of ten million characters the first million are read', () => {
    expect(answerTo(`Count the words:\n${'ab '.repeat(3_400_000)}`)).toBe(
      '(of the first million characters) 333334 words.',
    );
  });
});

describe('tokens', () => {
  let tokens: Tokens;
  beforeAll(async () => {
    tokens = await loadTokens();
  });

  describe('counting', () => {
    test('G-17: matches the tokenizer, for short texts and for long ones that are cut into slices', async () => {
      for (const text of [...texts, long]) {
        const counted = countTokens(text, asText);
        expect(tokens.countNow(text)).toBe(counted);
        expect(await tokens.count(text, never)).toBe(counted);
      }
      expect([...tokenSlices(long)].length).toBeGreaterThan(3);
      expect([...tokenSlices(long)].join('')).toBe(long);
    });

    // Uncut, the tokenizer takes 38 s for the first of these.
    test('takes time in proportion to the text, for any content', async () => {
      for (const one of [' ', 'a', 'A', '!', '漢', '\n']) {
        expect(await tokens.count(one.repeat(100_000), never)).toBeGreaterThan(700);
      }
    });
  });

  describe('fitting', () => {
    test('G-1: a cut text has exactly as many tokens as it may have; a character that needs more is left out', () => {
      const plain = `Turnpike's embedded model: antidisestablishmentarianism, unbelievable ${texts[1]}`;
      for (const text of [plain, ...texts]) {
        const whole = countTokens(text, asText);
        for (let limit = 0; limit <= whole; limit += 1) {
          const fitted = tokens.fit(text, limit);
          expect(fitted.tokenCount).toBeLessThanOrEqual(limit);
          if (text === plain) expect(fitted.tokenCount).toBe(limit);
          expect(fitted.tokenCount).toBe(countTokens(fitted.text, asText));
          expect(fitted.isCut).toBe(limit < whole);
          expect(fitted.text.isWellFormed()).toBe(true);
          expect(text.startsWith(fitted.text)).toBe(true);
          expect(fitted.pieces.join('')).toBe(fitted.text);
        }
      }
      expect(tokens.fit('a\ud83d b', 10).text).toBe('a\ufffd b');
    });
  });

  describe('decoding', () => {
    test('returns the text; a number that is not a token is rejected', () => {
      expect(tokens.decode([24912, 2375])).toBe('hello world');
      expect(tokens.decode([0, 999_999])).toBeNull();
      expect(tokens.decode([1.5])).toBeNull();
      expect(tokens.decode([199_999])).toBeNull();
    });

    // The tokenizer's own decoder is one for all: it keeps the half and spoils the next text with it.
    test('half a character of one call does not reach the next', () => {
      const halves: [number, number] = [28_823, 102];
      expect(tokens.decode(halves)).toBe('👩');
      for (const half of halves) expect(tokens.decode([half])).toBe('\ufffd');
    });
  });
});
