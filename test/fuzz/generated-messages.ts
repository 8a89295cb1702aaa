import type { SeededRandom } from '../doubles/seeded-random.ts';

/**
 * Requests and answers of Anthropic's Messages, out of everything that chat completions can say too. Every
 * text is of words that are nowhere else, so that what is lost or made up on the way is found by looking for words.
 */
export type Json = { [name: string]: unknown };

const word = (random: SeededRandom) => `w${random.text(9)}`;
const words = (random: SeededRandom) =>
  Array.from({ length: 1 + random.below(4) }, () => word(random)).join(random.pick([' ', '\n', ' é "\\ ']));
const sometimes = (random: SeededRandom, members: () => Json): Json =>
  random.below(3) === 0 ? members() : {};
const several = <T>(random: SeededRandom, most: number, make: (at: number) => T): T[] =>
  Array.from({ length: random.below(most + 1) }, (_, at) => make(at));

function value(random: SeededRandom, depth = 0): unknown {
  const kind = random.below(depth > 2 ? 4 : 6);
  if (kind === 0) return words(random);
  if (kind === 1) return random.below(2_000_000) - 1_000_000;
  if (kind === 2) return random.pick([true, false, null]);
  if (kind === 3) return random.below(1_000) / 8;
  if (kind === 4) return several(random, 3, () => value(random, depth + 1));
  return object(random, depth + 1);
}

function object(random: SeededRandom, depth = 0): Json {
  return Object.fromEntries(several(random, 3, () => [word(random), value(random, depth)]));
}

const base64 = (random: SeededRandom) => `${random.text(12)}==`;
const cacheControl = (random: SeededRandom) =>
  sometimes(random, () => ({ cache_control: { type: 'ephemeral' } }));

function schemaOf(random: SeededRandom): Json {
  const properties = several(random, 3, () => [word(random), { type: 'string', description: words(random) }]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** Ids and names of the tool calls in a conversation: results refer to them. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}

const callOf = (random: SeededRandom): Call => ({
  ...{ id: `toolu_${random.text(8)}`, name: word(random), input: object(random) },
});

const textBlock = (random: SeededRandom) => ({ type: 'text', text: words(random), ...cacheControl(random) });

function imageBlock(random: SeededRandom): Json {
  const isUrl = random.below(2) === 0;
  const source = isUrl
    ? { type: 'url', url: `https://${word(random)}.test/` }
    : { type: 'base64', media_type: random.pick(['image/png', 'image/webp']), data: base64(random) };
  return { type: 'image', source };
}

function documentBlock(random: SeededRandom): Json {
  const source = { type: 'base64', media_type: 'application/pdf', data: base64(random) };
  return { type: 'document', source, title: word(random) };
}

function userBlock(random: SeededRandom): Json {
  const kind = random.below(5);
  if (kind === 0) return imageBlock(random);
  return kind === 1 ? documentBlock(random) : textBlock(random);
}

/** A request that Messages takes and chat completions can say. */
export function generateMessagesRequest(random: SeededRandom): Json {
  const tools = several(random, 3, () => ({
    ...{ name: word(random), description: words(random), input_schema: schemaOf(random) },
    ...cacheControl(random),
  }));
  const messages = [{ role: 'user', content: random.pick([words(random), [userBlock(random)]]) }] as Json[];
  for (let turn = random.below(5); turn > 0; turn -= 1) messages.push(...generatedTurns(random));
  return {
    model: 'svc/chat-default',
    max_tokens: 1 + random.below(10_000),
    messages,
    ...sometimes(random, () => ({
      system: random.pick([words(random), [textBlock(random), textBlock(random)]]),
    })),
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 ? {} : sometimes(random, () => ({ tool_choice: choiceOf(random, tools) }))),
    ...samplingOf(random),
    ...sometimes(random, () => ({ stop_sequences: [word(random)] })),
    ...sometimes(random, () => ({ metadata: { user_id: word(random) } })),
    ...sometimes(random, () => ({ thinking: { type: 'adaptive' } })),
    ...sometimes(random, () => ({ stream: true })),
  };
}

const samplingOf = (random: SeededRandom): Json => ({
  ...sometimes(random, () => ({ temperature: random.below(9) / 8 })),
  ...sometimes(random, () => ({ top_p: random.below(9) / 8 })),
});

function choiceOf(random: SeededRandom, tools: readonly Json[]): Json {
  const single = sometimes(random, () => ({ disable_parallel_tool_use: true }));
  const name = random.pick(tools).name;
  return random.pick([
    { type: 'none' },
    { type: 'auto', ...single },
    { type: 'any' },
    { type: 'tool', name },
  ]);
}

function generatedTurns(random: SeededRandom): Json[] {
  const calls = several(random, 3, () => callOf(random));
  const thinking = { type: 'thinking', thinking: words(random), signature: random.text(20) };
  const said = { type: 'text', text: words(random) };
  const made = calls.map((call) => ({ type: 'tool_use', ...call }));
  const results = calls.map(({ id }) => ({
    ...{ type: 'tool_result', tool_use_id: id },
    ...random.pick([{}, { content: words(random) }, { content: [textBlock(random), textBlock(random)] }]),
  }));
  const more = several(random, 2, () => userBlock(random));
  const content = [...results, ...(results.length + more.length === 0 ? [textBlock(random)] : more)];
  const assistant = [...(random.below(3) === 0 ? [thinking] : []), said, ...made];
  const middle = random.below(5) === 0 ? [{ role: 'system', content: words(random) }] : [];
  return [{ role: 'assistant', content: assistant }, { role: 'user', content }, ...middle];
}

/** A whole message, as an Anthropic target answers. */
export function generateMessage(random: SeededRandom): Json {
  const calls = several(random, 3, () => ({ type: 'tool_use', ...callOf(random) }));
  const content = [
    ...several(random, 1, () => ({ type: 'thinking', thinking: words(random), signature: random.text(20) })),
    ...several(random, 1, () => ({ type: 'text', text: words(random) })),
    ...calls,
  ];
  const plain = ['end_turn', 'max_tokens', 'refusal'];
  return {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content },
    stop_reason: calls.length > 0 ? random.pick(['tool_use', 'max_tokens']) : random.pick(plain),
    stop_sequence: null,
    usage: {
      input_tokens: random.below(5_000),
      cache_creation_input_tokens: random.below(5_000),
      cache_read_input_tokens: random.below(5_000),
      output_tokens: random.below(5_000),
    },
  };
}

/** The same message as a stream: each text cut anywhere, with pings between. */
export function eventsOfMessage(random: SeededRandom, message: Json): Json[] {
  const { content, stop_reason, stop_sequence, usage, ...rest } = message;
  const started = { ...(usage as Json), output_tokens: 1 };
  const start = { ...rest, content: [], stop_reason: null, stop_sequence: null, usage: started };
  const blocks = (content as Json[]).flatMap((block, index) => eventsOfBlock(random, block, index));
  const { output_tokens } = usage as Json;
  return [
    { type: 'message_start', message: start },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: { output_tokens } },
    { type: 'message_stop' },
  ].flatMap((event) => (random.below(8) === 0 ? [event, { type: 'ping' }] : [event]));
}

function eventsOfBlock(random: SeededRandom, block: Json, index: number): Json[] {
  const opened = (content_block: Json) => ({ type: 'content_block_start', index, content_block });
  const delta = (type: string, member: Json) => ({
    type: 'content_block_delta',
    index,
    delta: { type, ...member },
  });
  const stop = { type: 'content_block_stop', index };
  const cut = (text: unknown) => pieces(random, text as string);
  if (block.type === 'text') {
    const deltas = cut(block.text).map((text) => delta('text_delta', { text }));
    return [opened({ type: 'text', text: '' }), ...deltas, stop];
  }
  if (block.type === 'thinking') {
    const deltas = cut(block.thinking).map((thinking) => delta('thinking_delta', { thinking }));
    const signature = delta('signature_delta', { signature: block.signature });
    return [opened({ type: 'thinking', thinking: '', signature: '' }), ...deltas, signature, stop];
  }
  const isEmpty = Object.keys(block.input as Json).length === 0 && random.below(2) === 0;
  const parts = isEmpty ? [] : cut(JSON.stringify(block.input));
  const deltas = parts.map((partial_json) => delta('input_json_delta', { partial_json }));
  return [opened({ ...block, input: {} }), ...deltas, stop];
}

/** The text, cut anywhere. */
export function pieces(random: SeededRandom, text: string): string[] {
  const at = random.below(text.length + 1);
  const half = [text.slice(0, at), text.slice(at)];
  return random.below(3) === 0 ? half.flatMap((piece) => pieces(random, piece)) : half;
}

/** The same JSON with one value replaced, dropped or repeated somewhere in it. */
export function damagedJson(random: SeededRandom, json: unknown): unknown {
  const copy = structuredClone(json);
  const places: [Json, string][] = [];
  const walk = (at: unknown) => {
    if (typeof at !== 'object' || at === null) return;
    for (const name of Object.keys(at)) {
      places.push([at as Json, name]);
      walk((at as Json)[name]);
    }
  };
  walk(copy);
  const [place, name] = random.pick(places);
  const others = [null, '', 'x', -1, 1.5, 1e300, true, [], {}, [[]], [null], { type: 'x' }, place];
  if (random.below(5) === 0) delete place[name];
  else place[name] = structuredClone(random.pick(others));
  return copy;
}
