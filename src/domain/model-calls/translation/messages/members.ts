import { isObject } from '../../../../ports/json-object.ts';
import { isTooDeep, MOST_LEVELS } from '../json-depth.ts';
import type { TranslatedRequest } from '../translator.ts';

/**
 * Reads the members of a request by their paths. The readers throw a `RefusedMember` at the first value that the
 * target's API cannot express, and `translateBody` turns it into the refusal. So each rule is one line where the member
 * is read, and no partly translated body is sent.
 */
export type JsonObject = { [name: string]: unknown };

class RefusedMember extends Error {
  readonly param: string | null;

  constructor(message: string, param: string | null) {
    super(message);
    this.param = param;
  }
}

export function refuse(param: string | null, message: string): never {
  throw new RefusedMember(message, param);
}

type Translated = Omit<Extract<TranslatedRequest, { outcome: 'translated' }>, 'outcome' | 'body'> & {
  readonly body: JsonObject;
};

export function translateBody(
  bytes: Uint8Array,
  translate: (request: JsonObject) => Translated,
): TranslatedRequest {
  const request = parseObject(bytes);
  if (request === null) {
    const message = `The body must be a JSON object of at most ${MOST_LEVELS} levels.`;
    return { outcome: 'refused', message, param: null };
  }
  try {
    const { body, answer } = translate(request);
    return { outcome: 'translated', body: encodeJson(body), answer };
  } catch (error) {
    if (!(error instanceof RefusedMember)) throw error;
    return { outcome: 'refused', message: error.message, param: error.param };
  }
}

export function encodeJson(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Null if the bytes or the text are not a JSON object, or are nested too deeply. */
export function parseObject(json: Uint8Array | string): JsonObject | null {
  const text = typeof json === 'string' ? json : new TextDecoder().decode(json);
  if (isTooDeep(text)) return null;
  try {
    const value = parseJson(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * A number with this many digits, or with such an exponent, may not fit into a double. 2^53 - 1 is excluded because
 * tool schemas often contain it: reading numbers by their text costs half a millisecond for a request body of Claude
 * Code.
 */
const LONG_NUMBER = /\d{17}|9(?!007199254740991)\d{15}|\de\+?\d{3}/i;

/** Whole numbers above 2^53 keep all their digits: tool arguments contain such ids. */
function parseJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

function exactNumber(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const isInexact = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return isInexact && context?.source !== undefined ? rawJson(context.source) : value;
}

/** Not in TypeScript's library yet. */
const rawJson = (JSON as unknown as { rawJSON(source: string): unknown }).rawJSON;

export function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function readObject(value: unknown, path: string): JsonObject {
  return isObject(value) ? value : refuse(path, `'${path}' must be an object.`);
}

export function readArray(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(path, `'${path}' must be an array.`);
}

export function readString(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuse(path, `'${path}' must be a string.`);
}

/** What the client sent, for a message: never long, and without calling a `toString` of the value. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

/** Reads a name or an id, which must not be empty. */
export function readName(value: unknown, path: string): string {
  const name = readString(value, path);
  return name === '' ? refuse(path, `'${path}' must not be empty.`) : name;
}

export function readBoolean(value: unknown, path: string): boolean {
  return typeof value === 'boolean' ? value : refuse(path, `'${path}' must be true or false.`);
}

export function readNumber(value: unknown, path: string): number {
  return typeof value === 'number' ? value : refuse(path, `'${path}' must be a number.`);
}

export function readPositiveInteger(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  return refuse(path, `'${path}' must be a whole number from 1 on.`);
}

/** Null if the member is missing or null: both APIs treat the two alike. */
export function optional<T>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => T,
): T | null {
  return isMissing(value) ? null : read(value, path);
}

export function readStrings(value: unknown, path: string): readonly string[] {
  return readArray(value, path).map((item, at) => readString(item, `${path}[${at}]`));
}

/** Refuses members that have a value and no translation: they are not dropped silently. */
export function refuseOthers(object: JsonObject, path: string, known: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(object)) {
    if (known.has(name) || isMissing(value)) continue;
    const param = path === '' ? shown(name) : `${path}.${shown(name)}`;
    refuse(param, `'${param}' cannot be sent to this model: its provider has no such member. Remove it.`);
  }
}

/** The object without members that have no value. */
export function definedMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isMissing(value)));
}

export function serverSentEvent(name: string | null, data: JsonObject): string {
  const json = JSON.stringify(data);
  return name === null ? `data: ${json}\n\n` : `event: ${name}\ndata: ${json}\n\n`;
}

/** The member that carries tool call arguments that are not a JSON object. */
const INVALID_JSON = 'INVALID_JSON';

/**
 * A model may write arguments that are not JSON, most often because its answer was cut off. Anthropic's guide wraps
 * them as `{"INVALID_JSON": text}`, which also distinguishes a broken call from one without arguments.
 */
export function argumentsAsInput(text: string): JsonObject {
  if (text.trim() === '') return {};
  return parseObject(text) ?? { [INVALID_JSON]: text };
}

export function inputAsArguments(input: JsonObject): string {
  const names = Object.keys(input);
  const invalid = input[INVALID_JSON];
  return names.length === 1 && typeof invalid === 'string' ? invalid : JSON.stringify(input);
}

/** The most characters that the translation of a stream may hold back. Only an endless answer has that many. */
export const MOST_HELD = 16 * 1024 * 1024;
/** What an open block counts in addition to its text, in characters. */
export const HELD_BY_BLOCK = 256;
