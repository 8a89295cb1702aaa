import { beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { answerAsObject } from '../../../src/adapters/model-upstream/embedded/chat-reply.ts';
import type { ChatMessage } from '../../../src/adapters/model-upstream/embedded/chat-request.ts';
import {
  inShort,
  itemsOf,
  sentencesOf,
  stemOf,
  summarise,
} from '../../../src/adapters/model-upstream/embedded/text-parts.ts';
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
  test('identifies itself first, and is the same for the same input', () => {
    expect(SELF_DESCRIPTION).toBe("Turnpike's embedded model (no language model):");
    expect(answerTo('What is the capital of France?')).toBe(answerTo('What is the capital of France?'));
  });

  test('describes its abilities where it cannot answer, and repeats the question', () => {
    const answer = answerTo(`What is the capital of ${'France '.repeat(100)}?`);
    expect(answer).toStartWith('I cannot answer that. I can summarise, list, count or repeat');
    expect(answer).toMatch(/You asked: “What is the capital of France France .*…”$/u);
    expect(answer.length).toBeLessThan(500);
    expect(answerTo('   ')).toStartWith('the message is empty');
  });

  test.each(['Hello', 'hi there!', 'Good morning', 'hey'])('greets back: %s', (greeting) => {
    expect(answerTo(greeting)).toStartWith('hello! I can');
  });

  test.each([
    ['Say pong', 'pong'],
    ['Reply with exactly: pong', 'pong'],
    ['Please repeat the following text:\nline one\nline two', 'line one\nline two'],
    ['Say "hello world" please', 'hello world'],
    ["Reply with the single word 'ok'.", 'ok'],
    ['Echo back: żółć 🙂', 'żółć 🙂'],
    ["Say one. Don't stop at two.", "one. Don't stop at two."],
    ["Please don't say it, but repeat it", null],
    ["Say don't do 'it'", 'it'],
  ])('repeats what it is asked to: %s', (asked, answer) => {
    if (answer === null) expect(answerTo(asked)).toStartWith('I cannot answer that');
    else expect(answerTo(asked)).toBe(answer);
  });

  test('text that is only mentioned is not repeated', () => {
    expect(answerTo('Is the sky blue? Answer with yes or no.')).toStartWith('I cannot answer that');
    expect(answerTo('What does the law say about that?')).toStartWith('I cannot answer that');
  });

  test.each([
    ['How many words are in "hello big world"?', '3 words.'],
    ['Count the lines:\na\nb\nc', '3 lines.'],
    ['How many characters: 🙂ab', '3 characters.'],
    ['Count all sentences: One. Two! Three?', '3 sentences.'],
    ['how many items: apples, pears, and plums', '3 items.'],
  ])('counts: %s', (asked, answer) => {
    expect(answerTo(asked)).toBe(answer);
  });

  test('lists lines or items, a long list in part', () => {
    expect(answerTo('List the following: apples, pears and plums')).toBe(
      '3 items\n- apples\n- pears\n- plums',
    );
    expect(answerTo('Bullet points please:\n1. one\n* two')).toBe('2 items\n- one\n- two');
    expect(answerTo(`List:\n${'x\n'.repeat(300)}`)).toEndWith('\n- x\n… and 100 more');
    expect(answerTo('List three European capitals')).toStartWith('there is no text to work on');
  });

  test.each([
    [`Summarise this in one sentence: ${article}`],
    [`Summarize in a sentence.\n${article}`],
    [`${article}\n\nTL;DR in one sentence please`],
  ])('summarises, wherever the request is: %#', (asked) => {
    expect(answerTo(asked)).toBe(oneSentence);
  });

  test('summarises earlier messages, and what the system message asks for', () => {
    expect(answerTo(article, 'Summarise that in one sentence')).toBe(oneSentence);
    const system = message('system', 'You summarise meetings in one sentence.');
    expect(writeAnswer([system, message('user', article)])).toBe(`${SELF_DESCRIPTION} ${oneSentence}`);
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

describe('a summary', () => {
  test('has the sentences with the most information, in their order', () => {
    expect(summarise(article, 2)).toBe(`The gateway forwards model calls and counts tokens. ${oneSentence}`);
    expect(summarise('One. Two.', 3)).toBe('One. Two.');
    expect(summarise('', 3)).toBe('');
    expect(summarise('東京は日本の首都です。大阪は商都です。', 1)).toEndWith('。');
  });

  test('of a very long text uses both ends', () => {
    const filler = 'nothing much here at all. '.repeat(40_000);
    expect(summarise(`Zebras graze on plains.${filler}`, 2)).toStartWith('Zebras graze on plains.');
  });
});

describe('the parts of a text', () => {
  test('sentences, items, stems, a text in short', () => {
    expect(sentencesOf('Pi is 3.14. Really?! Yes…\nNew line')).toEqual([
      'Pi is 3.14.',
      'Really?!',
      'Yes…',
      'New line',
    ]);
    expect(itemsOf('a, b and c')).toEqual(['a', 'b', 'c']);
    expect(itemsOf('a, b; c, d')).toEqual(['a, b', 'c, d']);
    expect(new Set(['summary', 'Summaries'].map(stemOf)).size).toBe(1);
    expect(new Set(['hire', 'hires', 'hiring', 'hired'].map(stemOf)).size).toBe(1);
    expect(inShort('a  b\nc', 10)).toBe('a b c');
    expect(inShort('several words here', 10)).toBe('several…');
  });
});

describe('a JSON object', () => {
  const cv = 'Jane Doe\nEmail: jane@doe.org\nAge: 42\nSkills: SQL, Rust';

  test.each([
    [`Return JSON with the keys name, email and age for:\n${cv}`],
    [`Fill in {"name": "...", "email": string, "age": <number>}\n${cv}`],
  ])('has the requested keys, with their values from the text: %#', (asked) => {
    expect(JSON.parse(answerAsObject([message('user', asked)]))).toEqual({
      name: 'Jane Doe',
      email: 'jane@doe.org',
      age: 42,
    });
  });

  test('has null for missing values, and the text answer where no keys are named', () => {
    const system = message('system', 'Answer in JSON: {"shoe_size": 0}');
    expect(JSON.parse(answerAsObject([system, message('user', cv)]))).toEqual({ shoe_size: null });
    const { answer } = JSON.parse(answerAsObject([message('user', 'Some JSON please')]));
    expect(answer).toStartWith(SELF_DESCRIPTION);
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
    });

    test('slices lose nothing, keep surrogate pairs together and split long runs', () => {
      for (const text of [
        ...texts,
        long,
        ' '.repeat(1_000),
        `!${'🙂'.repeat(1_000)}`,
        '漢'.repeat(100_000),
      ]) {
        const slices = [...tokenSlices(text)];
        expect(slices.join('')).toBe(text);
        expect(slices.every((slice) => slice.isWellFormed())).toBe(true);
      }
      expect(Math.max(...[...tokenSlices(' '.repeat(1_000))].map((slice) => slice.length))).toBe(128);
    });

    // Uncut, the tokenizer takes 38 s for the first of these.
    test('takes time in proportion to the text, for any content', async () => {
      for (const one of [' ', 'a', 'A', '!', '漢', '\n']) {
        expect(await tokens.count(one.repeat(100_000), never)).toBeGreaterThan(700);
      }
    });

    test('yields to other work, and ends when aborted', async () => {
      const abort = new AbortController();
      setImmediate(() => abort.abort(new Error('enough')));
      await expect(tokens.count(long, abort.signal)).rejects.toThrow('enough');
    });
  });

  describe('fitting', () => {
    test('G-1: a cut text has exactly as many tokens as it may have', () => {
      const text = `Turnpike's embedded model: antidisestablishmentarianism, unbelievable ${texts.slice(1, 3)}`;
      const whole = countTokens(text);
      for (let limit = 0; limit <= whole; limit += 1) {
        const fitted = tokens.fit(text, limit);
        expect(fitted.tokenCount).toBe(limit);
        expect(countTokens(fitted.text)).toBe(limit);
        expect(fitted.isCut).toBe(limit < whole);
        expect(text.startsWith(fitted.text)).toBe(true);
        expect(fitted.pieces.join('')).toBe(fitted.text);
      }
    });

    test('a character that needs more tokens than are left is left out, not broken', () => {
      for (const text of texts) {
        for (let limit = 0; limit <= countTokens(text, asText); limit += 1) {
          const fitted = tokens.fit(text, limit);
          expect(fitted.tokenCount).toBeLessThanOrEqual(limit);
          expect(fitted.tokenCount).toBe(countTokens(fitted.text, asText));
          expect(fitted.text.isWellFormed()).toBe(true);
          expect(text.startsWith(fitted.text)).toBe(true);
          expect(fitted.pieces.join('')).toBe(fitted.text);
        }
      }
    });

    test('a lone surrogate of the client becomes a replacement character', () => {
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
