import { createResponsesToChat } from '../../src/domain/model-calls/translation/responses/responses-to-chat.ts';
import type { TranslatedRequest } from '../../src/domain/model-calls/translation/translator.ts';
import { isObject, type JsonObject } from '../../src/ports/json-object.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { mutated } from '../gateway/generated-body.ts';
import { type ChatSource, chatChunks, generateChat, wholeChat } from './generated-chat.ts';
import { damagedJson } from './generated-messages.ts';
import { generateResponsesBody } from './generated-responses-body.ts';
import { checkResponseEvents } from './response-events.ts';

export interface FuzzedTranslations {
  /** By what came of them. */
  readonly seen: Readonly<
    Record<'answers' | 'damaged-streams' | 'bodies' | 'damaged-and-read' | 'damaged-and-refused', number>
  >;
}

const TOOLS = [
  { type: 'function', name: 'weather', parameters: { type: 'object' } },
  { type: 'custom', name: 'apply_patch' },
  { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn', parameters: null }] },
];

/**
 * Generated chats, whole and as streams, become responses that say the same and nothing else, in a stream whose events
 * follow their rules; generated bodies become chats that say the same. Damaged ones become a stream that follows the
 * rules up to where it failed, or a refusal that says what is wrong. Throws for the first case where that does not hold.
 */
export async function fuzzResponsesToChat(seed: number, count: number): Promise<FuzzedTranslations> {
  const random = createSeededRandom(seed);
  const seen = {
    answers: 0,
    'damaged-streams': 0,
    bodies: 0,
    'damaged-and-read': 0,
    'damaged-and-refused': 0,
  };
  for (let nth = 0; nth < count; nth += 1) {
    try {
      if (nth % 4 === 0) seen[fuzzAnswer(random)] += 1;
      else if (nth % 4 === 1) seen[fuzzDamagedStream(random)] += 1;
      else if (nth % 4 === 2) seen[fuzzBody(random)] += 1;
      else seen[fuzzDamagedBody(random)] += 1;
    } catch (error) {
      throw new Error(`case ${nth} of seed ${seed}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { seen };
}

function translate(body: string): TranslatedRequest {
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `r${ids}`;
  };
  const to = {
    model: 'm',
    maxTokensName: 'max_tokens',
    hasStreamOptions: true,
    defaultMaxTokens: 9,
  } as const;
  const stamps = { newId, nowSeconds: 1_000 };
  return createResponsesToChat({ storesResponses: false }).translateRequest(
    new TextEncoder().encode(body),
    to,
    stamps,
  );
}

function answerOf(random: SeededRandom) {
  const reasoning = random.below(2) === 0 ? { summary: 'auto' } : null;
  const translated = translate(JSON.stringify({ model: 'a', input: 'Hello', tools: TOOLS, reasoning }));
  if (translated.outcome === 'refused') throw new Error(translated.message);
  return translated.answer;
}

function fuzzAnswer(random: SeededRandom): 'answers' {
  const source = generateChat(random);
  const answer = answerOf(random);
  const stream = answer.stream();
  const parts = chatChunks(random, source).map((data) => stream.event(null, data));
  const all = [...parts, stream.end()];
  if (all.includes('failed') || all.includes('cut-off'))
    throw new Error(`broken off: ${JSON.stringify(source)}`);
  const { response, isEnded } = checkResponseEvents(all.join(''));
  if (!isEnded) throw new Error('the stream has no end');
  sameMeaning(source, response);
  const whole = answer.whole(new TextEncoder().encode(JSON.stringify(wholeChat(source))));
  if (whole === null) throw new Error('a whole answer was not read');
  sameMeaning(source, JSON.parse(new TextDecoder().decode(whole)));
  return 'answers';
}

function sameMeaning(source: ChatSource, response: JsonObject): void {
  const items = (response.output as readonly JsonObject[]).filter(isObject);
  const parts = items.flatMap(
    ({ content, summary }) => [content ?? [], summary ?? []].flat() as JsonObject[],
  );
  const join = (type: string, name: string) =>
    parts.flatMap((part) => (part.type === type ? [String(part[name])] : [])).join('');
  const calls = items.flatMap(({ type, call_id: id, name, namespace, arguments: written, input }) => {
    if (type !== 'function_call' && type !== 'custom_tool_call') return [];
    const chatName = namespace === undefined ? name : `${namespace}__${name}`;
    return [{ id, name: chatName, written: written ?? input }];
  });
  const isCut = source.finishReason === 'length' || source.finishReason === 'content_filter';
  const usage = isObject(response.usage) ? response.usage : {};
  const found = {
    text: join('output_text', 'text'),
    refusal: join('refusal', 'refusal'),
    reasoning: join('reasoning_text', 'text') + join('summary_text', 'text'),
    calls,
    status: response.status,
    usage: [usage.input_tokens, usage.output_tokens],
  };
  const expected = {
    text: source.text,
    refusal: source.refusal,
    reasoning: source.reasoning,
    calls: inOrder(source, calls).map((call) => ({ ...call, written: writtenOf(call) })),
    status: isCut ? 'incomplete' : 'completed',
    usage: [source.usage.prompt_tokens, source.usage.completion_tokens],
  };
  if (!Bun.deepEquals(found, expected)) {
    throw new Error(`${JSON.stringify(expected)}\nbecame ${JSON.stringify(found)}`);
  }
}

/** Parallel calls are in the order in which their arguments began. */
function inOrder({ calls }: ChatSource, found: readonly { readonly id: unknown }[]): ChatSource['calls'] {
  const placeOf = (id: string) => found.findIndex((call) => call.id === id);
  return [...calls].sort((one, other) => placeOf(one.id) - placeOf(other.id));
}

function writtenOf({ name, written }: ChatSource['calls'][number]): string {
  if (name !== 'apply_patch') return written;
  try {
    const { input } = JSON.parse(written);
    return typeof input === 'string' ? input : written;
  } catch {
    return written;
  }
}

function fuzzDamagedStream(random: SeededRandom): 'damaged-streams' {
  const stream = answerOf(random).stream();
  let text = '';
  for (const data of chatChunks(random, generateChat(random))) {
    const sent = random.below(4) === 0 ? damagedBody(random, data) : data;
    const events = stream.event(random.below(50) === 0 ? 'error' : null, sent);
    if (events === 'failed') {
      checkResponseEvents(text);
      return 'damaged-streams';
    }
    text += events;
  }
  const last = stream.end();
  const { isEnded } = checkResponseEvents(last === 'cut-off' ? text : text + last);
  if (isEnded !== (last !== 'cut-off')) throw new Error('a stream ended without its last event');
  return 'damaged-streams';
}

function fuzzBody(random: SeededRandom): 'bodies' {
  const { body, said } = generateResponsesBody(random);
  const translated = translate(JSON.stringify(body));
  if (translated.outcome === 'refused') {
    throw new Error(`refused: ${translated.param}: ${translated.message}\n${JSON.stringify(body)}`);
  }
  const chat = JSON.parse(new TextDecoder().decode(translated.body));
  const marks = JSON.stringify(chat.messages).match(/mark\d+/g) ?? [];
  if (!Bun.deepEquals(marks.toSorted(), said.toSorted())) {
    throw new Error(`${JSON.stringify(body)}\nbecame ${JSON.stringify(chat)}`);
  }
  checkTurns(chat.messages);
  return 'bodies';
}

/** With a value replaced by another, a member gone, or bytes changed. */
function damagedBody(random: SeededRandom, written: string): string {
  if (random.below(4) > 0 && written.startsWith('{'))
    return JSON.stringify(damagedJson(random, JSON.parse(written)));
  return new TextDecoder().decode(mutated(random, new TextEncoder().encode(written)));
}

/** The results of a message's calls are directly behind it, each of a call that was made. */
function checkTurns(messages: readonly JsonObject[]): void {
  let open: unknown[] = [];
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (role !== 'tool') open = Array.isArray(tool_calls) ? tool_calls.map(({ id }) => id) : [];
    else if (!open.includes(tool_call_id)) throw new Error('a result without its call');
  }
}

function fuzzDamagedBody(random: SeededRandom): 'damaged-and-read' | 'damaged-and-refused' {
  const { body } = generateResponsesBody(random);
  const written = damagedBody(random, JSON.stringify(body));
  const translated = translate(written);
  if (translated.outcome === 'translated') {
    const chat = JSON.parse(new TextDecoder().decode(translated.body));
    if (!Array.isArray(chat.messages) || chat.messages.length === 0)
      throw new Error(`no messages: ${written}`);
    return 'damaged-and-read';
  }
  const { message, param } = translated;
  const isClear = /^[A-Z'].*\.$/s.test(message) && (param === null || param !== '');
  if (!isClear) throw new Error(`not a clear refusal: ${message} (${param})`);
  return 'damaged-and-refused';
}
