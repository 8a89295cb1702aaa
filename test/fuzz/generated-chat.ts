import type { SeededRandom } from '../doubles/seeded-random.ts';
import { pieces } from './generated-messages.ts';

/** What a model says, in the order in which it does. */
export interface ChatSource {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly written: string }[];
  readonly finishReason: string;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const ALPHABET = 'abc {}[]":,\\\n\u00e9\u4f60\u{1f600}\u2028\0-';
const FINISH_REASONS = ['stop', 'stop', 'tool_calls', 'length', 'content_filter', 'eos'];

export function generateChat(random: SeededRandom): ChatSource {
  const maybe = (most: number) =>
    random.below(2) === 0 ? '' : random.text(1 + random.below(most), ALPHABET);
  const calls = Array.from({ length: random.pick([0, 0, 1, 1, 2, 4]) }, (_, nth) => ({
    id: `call_${nth}_${random.text(4)}`,
    name: random.pick(['weather', 'time', 'apply_patch', 'agents__spawn', 'made_up']),
    written: random.pick(['', '{}', `{"input":${JSON.stringify(maybe(20))}}`, random.text(30, ALPHABET)]),
  }));
  return {
    text: maybe(80),
    reasoning: maybe(40),
    refusal: random.below(6) === 0 ? maybe(20) : '',
    calls,
    finishReason: random.pick(FINISH_REASONS),
    usage: { prompt_tokens: random.below(1_000), completion_tokens: random.below(1_000) },
  };
}

/** As a whole answer. */
export function wholeChat({ text, reasoning, refusal, calls, finishReason, usage }: ChatSource) {
  const tool_calls = calls.map(({ id, name, written }) => ({
    ...{ id, type: 'function', function: { name, arguments: written } },
  }));
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(refusal === '' ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls }),
  };
  return { id: 'x', choices: [{ index: 0, message, finish_reason: finishReason }], usage };
}

/** As the data of a stream's events, cut anywhere; parallel calls in turns, usage in one of its places. */
export function chatChunks(random: SeededRandom, source: ChatSource): string[] {
  const deltas: object[] = [
    ...pieces(random, source.reasoning).map((reasoning_content) => ({ reasoning_content })),
    ...pieces(random, source.text).map((content) => ({ content })),
    ...pieces(random, source.refusal).map((refusal) => ({ refusal })),
    ...callDeltas(random, source.calls),
  ];
  const chunks: object[] = deltas.map((delta) => chunkOf({ index: 0, delta, finish_reason: null }));
  const { usage, finishReason: finish_reason } = source;
  const place = random.pick(['after', 'after', 'in-choice', 'at-top', 'groq']);
  const last = { index: 0, delta: {}, finish_reason, ...(place === 'in-choice' ? { usage } : {}) };
  chunks.push({
    ...chunkOf(last),
    ...(place === 'at-top' ? { usage } : {}),
    ...(place === 'groq' ? { x_groq: { usage } } : {}),
  });
  if (place === 'after') chunks.push({ choices: [], usage });
  const noise = [
    { choices: [] },
    { choices: [], usage: null },
    chunkOf({ index: 0, delta: { content: '' } }),
  ];
  for (let more = random.below(3); more > 0; more -= 1) {
    chunks.splice(random.below(chunks.length), 0, random.pick(noise));
  }
  if (random.below(2) === 0) chunks.unshift(chunkOf({ index: 0, delta: { role: 'assistant', content: '' } }));
  const written = chunks.map((chunk) => JSON.stringify(chunk));
  return random.below(4) === 0 ? written : [...written, '[DONE]'];
}

function chunkOf(choice: object): object {
  return { id: 'x', object: 'chat.completion.chunk', choices: [choice] };
}

/** Each call begins in its order; after that the pieces of all of them alternate. */
function callDeltas(random: SeededRandom, calls: ChatSource['calls']): object[] {
  const queues = calls.map(({ id, name, written }, index) => {
    const first = random.below(2) === 0 ? { name, arguments: '' } : { name };
    return [
      { index, id, type: 'function', function: first },
      ...pieces(random, written).map((piece) => ({ index, function: { arguments: piece } })),
    ];
  });
  const isInTurns = random.below(3) === 0;
  const deltas: object[] = isInTurns ? queues.map((queue) => ({ tool_calls: [queue.shift()] })) : [];
  for (let left = queues.filter((queue) => queue.length > 0); left.length > 0; ) {
    const queue = isInTurns ? random.pick(left) : left[0];
    deltas.push({ tool_calls: queue?.splice(0, 1 + random.below(2)) });
    left = queues.filter((one) => one.length > 0);
  }
  return deltas;
}
