import { isObject, type JsonObject } from '../../ports/json-object.ts';

/** A response that is stored here: what the client received, and all items that the model got as input. */
export interface ResponseContent {
  readonly response: JsonObject;
  readonly input: readonly JsonObject[];
}

export function writeContent(content: ResponseContent): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(content));
}

/** Null if it has another structure. */
export function parseContent(bytes: Uint8Array): ResponseContent | null {
  const read: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!isObject(read) || !isObject(read.response) || !Array.isArray(read.input)) return null;
  return { response: read.response, input: read.input.filter(isObject) };
}

/** What is stored of a response, from the request body and the response received. */
export function contentOf(body: unknown, response: JsonObject): ResponseContent {
  const given = isObject(body) ? body.input : undefined;
  const suffix = String(response.id).replace(/^resp_/, '');
  return { response, input: itemsOf(given).map((item, at) => withId(item, suffix, at)) };
}

/** The ids of a response's output, which later requests may refer to. */
export function outputIds(response: JsonObject): readonly string[] {
  const output = Array.isArray(response.output) ? response.output : [];
  return output.flatMap((item) => (isObject(item) && typeof item.id === 'string' ? [item.id] : []));
}

interface Continuation {
  /** Null if nothing precedes the input. */
  readonly previous: ResponseContent | null;
  readonly holders: readonly ResponseContent[];
  /** References that are omitted. */
  readonly dropped: ReadonlySet<string>;
}

/**
 * The body of a continuation with its references resolved: the items of the previous response come first, and each reference
 * is replaced by its item. Instructions are not carried over, as in the Responses API.
 */
export function expandedBody(body: JsonObject, { previous, holders, dropped }: Continuation): JsonObject {
  const stored = new Map(holders.flatMap(allItems).map((item) => [item.id, item]));
  const earlier = previous === null ? [] : allItems(previous);
  const input = itemsOf(body.input).flatMap((item) => {
    const isReference = item.type === 'item_reference' || ((item.type ?? null) === null && !('role' in item));
    if (!isReference) return [item];
    return typeof item.id === 'string' && dropped.has(item.id) ? [] : [stored.get(item.id) ?? item];
  });
  return { ...body, input: [...earlier, ...input] };
}

function allItems({ input, response }: ResponseContent): readonly JsonObject[] {
  return [...input, ...(Array.isArray(response.output) ? response.output.filter(isObject) : [])];
}

/** A string is a message of the user. */
function itemsOf(input: unknown): readonly JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input.filter(isObject) : [];
}

/** An item as the Responses API lists it: every item has an id, and messages have a type and their content in parts. */
function withId(item: JsonObject, suffix: string, at: number): JsonObject {
  const type = item.type ?? 'message';
  const id =
    typeof item.id === 'string' ? item.id : `${type === 'message' ? 'msg' : 'item'}_${suffix}_i${at}`;
  if (typeof item.content !== 'string') return { ...item, type, id };
  const partType = item.role === 'assistant' ? 'output_text' : 'input_text';
  return { ...item, type, id, status: 'completed', content: [{ type: partType, text: item.content }] };
}

interface InputItemsPage {
  readonly limit: number;
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
}

/** A page of a response's input, as `GET /responses/{id}/input_items` returns it. */
export function inputItemsPage({ input }: ResponseContent, { limit, after, order }: InputItemsPage) {
  const ordered = order === 'asc' ? input : [...input].reverse();
  const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  const data = ordered.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}
