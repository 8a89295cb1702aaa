import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ClientWire } from '../json/client-wire.ts';

/**
 * Merges the events of a stream into one answer for people to read. The texts of its pieces are joined, so that text that was
 * split over two events can be found. Events that cannot be parsed are skipped.
 */
export function foldedAnswer(stream: string, wire: ClientWire): string {
  const events = dataOf(stream);
  const folded = FOLDS[wire](events);
  const error = events.find((event) => isObject(event.error));
  return JSON.stringify(error === undefined ? folded : { ...folded, error: error.error });
}

function dataOf(stream: string): readonly JsonObject[] {
  const found: JsonObject[] = [];
  for (const event of stream.split(/\r\n\r\n|\n\n|\r\r/)) {
    const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
    const parsed = parsedJson(lines.map((line) => line.slice('data:'.length)).join('\n'));
    if (isObject(parsed)) found.push(parsed);
  }
  return found;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const FOLDS = {
  completions: foldedCompletion,
  responses: foldedResponse,
  messages: foldedMessage,
} as const satisfies Record<ClientWire, (events: readonly JsonObject[]) => JsonObject>;

/** Texts in these fields are concatenated. In all other fields, the last text replaces earlier ones. */
const JOINED: ReadonlySet<string> = new Set([
  ...[
    'content',
    'text',
    'refusal',
    'reasoning',
    'reasoning_content',
    'arguments',
    'thinking',
    'partial_json',
  ],
]);

function foldedCompletion(events: readonly JsonObject[]): JsonObject {
  let folded: JsonObject = {};
  for (const { choices, ...rest } of events) {
    const pieces = Array.isArray(choices) ? choices.map(choicePiece) : [];
    folded = merged({ ...folded, ...present(rest) }, { choices: pieces });
  }
  return { ...folded, ...(events.length === 0 ? {} : { object: 'chat.completion' }) };
}

/** The `delta` of chat completions becomes `message`; completions have their text in the choice itself. */
function choicePiece(choice: unknown): unknown {
  if (!isObject(choice) || !isObject(choice.delta)) return choice;
  const { delta, ...rest } = choice;
  return { ...rest, message: delta };
}

/** The last event contains the whole response. If it is missing, the texts so far are joined. */
function foldedResponse(events: readonly JsonObject[]): JsonObject {
  const responses = events.map(({ response }) => response).filter(isObject);
  const last = responses.at(-1) ?? {};
  if (last.status !== 'in_progress' && last.status !== 'queued' && responses.length > 0) return last;
  const deltas = events.filter(({ type }) => typeof type === 'string' && type.endsWith('.delta'));
  const output_text = deltas.map(({ delta }) => (typeof delta === 'string' ? delta : '')).join('');
  return { ...last, output_text };
}

function foldedMessage(events: readonly JsonObject[]): JsonObject {
  let folded: JsonObject = {};
  const blocks: JsonObject[] = [];
  for (const { type, message, index, content_block: begun, delta, usage } of events) {
    if (type === 'message_start' && isObject(message)) folded = { ...message };
    if (type === 'content_block_start' && isObject(begun)) blocks[blockPlace(index)] = begun;
    if (type === 'content_block_delta' && isObject(delta)) {
      const { type: _kind, ...piece } = delta;
      const place = blockPlace(index);
      blocks[place] = merged(blocks[place] ?? {}, piece);
    }
    if (type === 'message_delta' && isObject(delta)) folded = merged(folded, delta);
    if (isObject(usage)) folded = merged(folded, { usage });
  }
  return { ...folded, content: blocks.filter((block) => block !== undefined) };
}

/** Blocks beyond this limit are merged into one. */
const MOST_PLACES = 1_000;

function blockPlace(index: unknown): number {
  return Number.isInteger(index) && Number(index) >= 0 ? Math.min(Number(index), MOST_PLACES) : 0;
}

function present(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function merged(old: JsonObject, piece: JsonObject): JsonObject {
  const result: Record<string, unknown> = { ...old };
  for (const [name, value] of Object.entries(piece)) {
    if (value === null && result[name] !== undefined) continue;
    const known = result[name];
    if (JOINED.has(name) && typeof known === 'string' && typeof value === 'string') {
      result[name] = known + value;
    } else if (isObject(known) && isObject(value)) {
      result[name] = merged(known, value);
    } else if (Array.isArray(value) && (known === undefined || Array.isArray(known))) {
      result[name] = mergedLists(Array.isArray(known) ? known : [], value);
    } else {
      result[name] = value;
    }
  }
  return result as JsonObject;
}

/** Merges pieces by their `index`; pieces without one are appended. */
function mergedLists(old: readonly unknown[], pieces: readonly unknown[]): readonly unknown[] {
  const result = [...old];
  for (const piece of pieces) {
    const place = isObject(piece) && Number.isInteger(piece.index) ? indexIn(result, piece.index) : -1;
    const known = result[place];
    if (isObject(known) && isObject(piece)) result[place] = merged(known, piece);
    else result.push(piece);
  }
  return result;
}

function indexIn(list: readonly unknown[], index: unknown): number {
  return list.findIndex((one) => isObject(one) && one.index === index);
}
