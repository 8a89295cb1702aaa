import { composedTranslator } from '../../src/domain/model-calls/translation/composed-translator.ts';
import { chatToMessages } from '../../src/domain/model-calls/translation/messages/chat-to-messages.ts';
import { messagesToChat } from '../../src/domain/model-calls/translation/messages/messages-to-chat.ts';
import type {
  AnswerTranslation,
  StreamTranslation,
  TranslatedRequest,
  TranslationTarget,
  Translator,
} from '../../src/domain/model-calls/translation/translator.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import {
  damagedJson,
  eventsOfMessage,
  generateMessage,
  generateMessagesRequest,
  type Json,
} from './generated-messages.ts';

export interface FuzzedTranslations {
  /** By what came of them. */
  readonly seen: Readonly<Record<'round-trip' | 'damaged-and-translated' | 'damaged-and-refused', number>>;
}

/**
 * Both translators between Messages and chat completions. Half of the cases are whole: a request goes to the other wire and
 * back and says the same, its answer does so whole and as a stream, and no word appears that was in neither. The
 * other half is damaged: a request is refused with a message, or becomes a body; an answer is read or is none; nothing
 * throws. Throws for the first case where that does not hold.
 */
export async function fuzzMessages(seed: number, count: number): Promise<FuzzedTranslations> {
  const seen = { 'round-trip': 0, 'damaged-and-translated': 0, 'damaged-and-refused': 0 };
  const random = createSeededRandom(seed);
  for (let nth = 0; nth < count; nth += 1) {
    try {
      seen[nth % 2 === 0 ? roundTrip(random) : damage(random)] += 1;
    } catch (error) {
      throw new Error(`Case ${nth} of seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
  return { seen };
}

const target: TranslationTarget = {
  model: 'claude',
  maxTokensName: 'max_tokens',
  hasStreamOptions: true,
  defaultMaxTokens: 4_096,
};

/** There and back again, the way that composed translators go. */
const MESSAGES_TWICE = composedTranslator(messagesToChat, chatToMessages);
const CHAT_TWICE = composedTranslator(chatToMessages, messagesToChat);

function translate(translator: Translator, request: unknown): TranslatedRequest {
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id${ids}`;
  };
  return translator.translateRequest(encode(request), target, { newId, nowSeconds: 1 });
}

const encode = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));
const decode = (bytes: Uint8Array): Json => JSON.parse(new TextDecoder().decode(bytes));

function translated(translator: Translator, request: Json) {
  const result = translate(translator, request);
  if (result.outcome === 'translated') return { body: decode(result.body), answer: result.answer };
  throw new Error(`refused: ${result.message}\n${JSON.stringify(request)}`);
}

function roundTrip(random: SeededRandom): 'round-trip' {
  const request = generateMessagesRequest(random);
  const there = translated(messagesToChat, request).body;
  expectNoNewWords(request, there);
  const { body } = translated(MESSAGES_TWICE, request);
  expectSame(meaningOfMessages(request), meaningOfMessages(body), 'a Messages request');

  // The other way round it is the same chat, to the letter.
  const again = translated(CHAT_TWICE, there).body;
  expectSame(withEffectiveSampling(there), withEffectiveSampling(again), 'a chat request');

  roundTripOfAnswer(random);
  return 'round-trip';
}

function roundTripOfAnswer(random: SeededRandom): void {
  const message = generateMessage(random);
  const asked = { ...generateMessagesRequest(random), thinking: { type: 'adaptive' } };
  const { answer } = translated(MESSAGES_TWICE, asked);
  const whole = answer.whole(encode(message));
  if (whole === null) throw new Error(`no answer: ${JSON.stringify(message)}`);
  expectNoNewWords(message, decode(whole));
  expectSame(meaningOfAnswer(message), meaningOfAnswer(decode(whole)), 'a whole answer');

  const events = eventsOfMessage(random, message);
  const texts = stream(answer, events);
  if (texts === null) throw new Error(`the stream failed: ${JSON.stringify(events)}`);
  expectSame(meaningOfAnswer(message), meaningOfAnswer(gathered(texts)), 'a streamed answer');
}

function stream(answer: AnswerTranslation, events: readonly unknown[]): string | null {
  const translation: StreamTranslation = answer.stream();
  let text = '';
  for (const event of events) {
    const type = typeof event === 'object' && event !== null ? (event as Json).type : null;
    const more = translation.event(typeof type === 'string' ? type : null, JSON.stringify(event));
    if (more === 'failed') return null;
    text += more;
  }
  const last = translation.end();
  return last === 'cut-off' ? null : text + last;
}

/** As a client of Messages gathers the events, in the order that it insists on. */
function gathered(text: string): Json {
  let message: Json = {};
  const content: Json[] = [];
  let open = -1;
  for (const event of text.split('\n\n').filter((piece) => piece !== '')) {
    const data = JSON.parse(event.slice(event.indexOf('\ndata: ') + 7));
    if (data.type === 'message_start') ({ message } = data);
    else if (data.type === 'content_block_start') {
      if (open !== -1 || data.index !== content.length) throw new Error(`out of order: ${text}`);
      open = data.index;
      content.push({ ...data.content_block, json: '' });
    } else if (data.type === 'content_block_delta') {
      if (data.index !== open) throw new Error(`a delta of no open block: ${text}`);
      const block = content[open] as { [name: string]: string };
      const { text: more = '', thinking = '', partial_json: json = '' } = data.delta;
      if (block.type === 'text') block.text += more;
      else if (block.type === 'thinking') block.thinking += thinking;
      else block.json += json;
    } else if (data.type === 'content_block_stop') open = -1;
    else if (data.type === 'message_delta') message = { ...message, ...data.delta, usage: data.usage };
  }
  const blocks = content.map(({ json, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse((json as string) || '{}') } : block,
  );
  return { ...message, content: blocks };
}

/** What a request says, whichever way it is cut into messages and blocks. Thinking is not said to another model. */
function meaningOfMessages(request: Json): unknown {
  const { messages, system, tools, max_tokens, tool_choice, stop_sequences, stream, metadata } = request;
  const said: unknown[] = [];
  for (const { role, content } of messages as Json[]) {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Json[]);
    for (const block of blocks) said.push(...meaningOfBlock(role, block));
  }
  const plain = ((tools ?? []) as Json[]).map(({ cache_control: _mark, ...tool }) => tool);
  const { temperature, top_p } = request;
  return {
    ...{ said: inOrder(said), system: textOf(system), tools: plain, max_tokens, tool_choice, stop_sequences },
    ...withEffectiveSampling({ stream, metadata, temperature, top_p }),
  };
}

function meaningOfBlock(role: unknown, block: Json): unknown[] {
  const { type, text, source, title, id, name, input } = block;
  if (type === 'text') return wordsIn(text).map((word) => `${role === 'assistant' ? role : 'user'}: ${word}`);
  if (type === 'tool_use') return [{ id, name, input }];
  if (type === 'tool_result') {
    return [`result of ${String(block.tool_use_id)}`, ...wordsIn(textOf(block.content))];
  }
  return type === 'thinking' ? [] : [{ source, title }];
}

/** A temperature or `top_p` of 1 has no effect, and is left out where both are given. */
const effective = (sampling: unknown) => (sampling === 1 ? undefined : sampling);
const withEffectiveSampling = ({ temperature, top_p, ...request }: Json) => ({
  ...{ ...request, temperature: effective(temperature), top_p: effective(top_p) },
});

function meaningOfAnswer({ content, stop_reason, usage }: Json): unknown {
  const blocks = (content as Json[]).map(({ type, text, thinking, id, name, input }) => ({
    ...{ type, text, thinking, id, name, input },
  }));
  return { blocks, stop_reason, usage };
}

/** Within a turn texts stand before calls, and results before texts: the order of each kind is what counts. */
function inOrder(said: readonly unknown[]): unknown {
  const texts = said.filter((item) => typeof item === 'string');
  return [
    texts.filter((item) => item.startsWith('assistant')),
    texts.toSorted(),
    said.filter((item) => typeof item !== 'string'),
  ];
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.map(({ text }: Json) => text).join('\n\n');
}

const wordsIn = (text: unknown): string[] =>
  [...String(text).matchAll(/w[A-Za-z0-9]{9}(?![A-Za-z0-9])/g)].map(String);

function expectSame(before: unknown, after: unknown, what: string): void {
  if (Bun.deepEquals(before, after)) return;
  throw new Error(
    `${what} says something else.\nbefore: ${JSON.stringify(before)}\nafter: ${JSON.stringify(after)}`,
  );
}

function expectNoNewWords(before: unknown, after: unknown): void {
  const known = new Set(wordsIn(JSON.stringify(before)));
  const made = wordsIn(JSON.stringify(after)).filter((word) => !known.has(word));
  if (made.length > 0) throw new Error(`made up: ${made.join(' ')}`);
}

/** Damaged requests, answers and events, to both. */
function damage(random: SeededRandom): 'damaged-and-translated' | 'damaged-and-refused' {
  const isMessages = random.below(2) === 0;
  const messages = generateMessagesRequest(random);
  const whole = isMessages ? messages : translated(messagesToChat, messages).body;
  const request = damagedJson(random, whole);
  const answers = translated(isMessages ? MESSAGES_TWICE : chatToMessages, whole).answer;
  damageAnswer(random, answers);
  const result = translate(isMessages ? messagesToChat : chatToMessages, request);
  if (result.outcome === 'translated') {
    const { body } = result;
    if (!Array.isArray(decode(body).messages)) throw new Error('a body without messages');
    return 'damaged-and-translated';
  }
  const { message, param } = result;
  if (!/^.{10,400}\.$/s.test(message)) throw new Error(`no sentence: ${message}`);
  const [first = ''] = (param ?? '').split(/[.[]/);
  const isNamed = first in (request as Json) || first in whole || param === 'model';
  if (!isNamed) throw new Error(`no such member: ${param}`);
  return 'damaged-and-refused';
}

function damageAnswer(random: SeededRandom, answer: AnswerTranslation): void {
  const message = generateMessage(random);
  const bytes = encode(random.below(2) === 0 ? message : damagedJson(random, message));
  const read = answer.whole(random.below(2) === 0 ? bytes : bytes.subarray(0, random.below(bytes.length)));
  if (read !== null) decode(read);
  const events = eventsOfMessage(random, message);
  const at = random.below(events.length);
  const change = random.pick(['damage', 'drop', 'swap', 'repeat']);
  if (change === 'damage') events[at] = damagedJson(random, events[at]) as Json;
  else if (change === 'drop') events.splice(at, 1);
  else if (change === 'repeat') events.splice(at, 0, events[at] as Json);
  else events.unshift(...events.splice(at, 1));
  stream(answer, events);
}
