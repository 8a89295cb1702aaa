import { joinBytes } from '../../http/bytes.ts';
import type { Span } from './hosted-parts.ts';
import {
  COMMA,
  failedAt,
  type JsonText,
  nameAmong,
  OPENING_BRACE,
  QUOTE,
  spaceEnd,
  stringIn,
} from './json-text.ts';
import {
  type BodyProblem,
  isOneTooMany,
  noteName,
  refuseCaseVariant,
  type SeenNames,
} from './listed-names.ts';
import { type MemberReader, OPENING_BRACKET, readElements, readMembers, valueEnd } from './scan-json.ts';

/** Members of a body that are parsed: `models` and `stream_options`. */
export interface ListedMembers extends SeenNames {
  models: ModelList | null;
  streamOptions: StreamOptionsPlace | null;
}

/**
 * Other models that may answer, in the format of OpenRouter's clients. The gateway reads the list; the provider does not
 * receive it.
 */
export interface ModelList {
  /** From the name to the end of the value. */
  readonly member: Span;
  /** The names with their quotes, as the client wrote them; at most eight. */
  readonly names: readonly Span[];
}

const MOST_MODELS = 8;
const FIRST_OF_NULL = 0x6e;

export function readModels(text: JsonText, members: ListedMembers, nameStart: number, start: number): number {
  const { bytes } = text;
  const names: Span[] = [];
  let isSound = bytes[start] === FIRST_OF_NULL;
  let end: number;
  if (bytes[start] === OPENING_BRACKET) {
    isSound = true;
    end = readElements(text, start, names, (all, into, at) => {
      const after = valueEnd(all, at);
      if (bytes[at] !== QUOTE || into.length >= MOST_MODELS) isSound = false;
      else into.push({ start: at, end: after });
      return after;
    });
  } else end = valueEnd(text, start);
  if (!isSound) refuseMember(members, 'models', `must be a list of at most ${MOST_MODELS} names of models`);
  else members.models = { member: { start: nameStart, end }, names };
  return end;
}

interface WithoutModels {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The models that answer if `model` does not. */
  readonly names: readonly string[];
}

/**
 * Removes `models` from the body. If the body has no `model`, the first of them becomes the model. A body with neither is
 * left for the reader to refuse.
 */
export function withoutModels(
  bytes: Uint8Array,
  { member, names }: ModelList,
  model: string | null,
): WithoutModels {
  const all = names.map(({ start, end }) => stringIn(bytes, start, end));
  const [first] = names;
  if (model === null && first !== undefined) {
    const own = new TextEncoder().encode('"model":');
    const rest = joined(bytes, member, [own, bytes.subarray(first.start, first.end)]);
    return { bytes: rest, names: others(all, all[0] as string) };
  }
  return { bytes: joined(bytes, withComma(bytes, member), []), names: others(all, model) };
}

function others(names: readonly string[], model: string | null): readonly string[] {
  return [...new Set(names)].filter((name) => name !== model);
}

/** Includes the comma after it, or else the one before it. */
function withComma(bytes: Uint8Array, { start, end }: Span): Span {
  const after = spaceEnd(bytes, end, bytes.length);
  if (bytes[after] === COMMA) return { start, end: after + 1 };
  let before = start - 1;
  while (before > 0 && bytes[before] !== COMMA && bytes[before] !== OPENING_BRACE) before -= 1;
  return bytes[before] === COMMA ? { start: before, end } : { start, end };
}

function joined(
  bytes: Uint8Array,
  { start, end }: Span,
  inserted: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const pieces = [bytes.subarray(0, start), ...inserted, bytes.subarray(end)];
  return joinBytes(
    pieces,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
}

/** The value of `stream_options` in a body, and its position. */
export type StreamOptionsPlace =
  | { found: 'null'; value: Span }
  | { found: 'object-without-usage'; closingBrace: number; isEmpty: boolean }
  | { found: 'usage'; value: Span };

interface StreamOptions extends SeenNames {
  isEmpty: boolean;
  usage: Span | null;
}

export function readStreamOptions(text: JsonText, members: ListedMembers, start: number): number {
  const { bytes } = text;
  if (bytes[start] !== OPENING_BRACE) {
    const end = valueEnd(text, start);
    if (bytes[start] === FIRST_OF_NULL) members.streamOptions = { found: 'null', value: { start, end } };
    else refuseMember(members, 'stream_options', 'must be an object or null');
    return end;
  }
  const { listed } = members;
  const options: StreamOptions = { listed, isEmpty: true, usage: null, problem: null, seen: 0, others: 0 };
  const end = readMembers(text, start, options, readStreamOption);
  members.problem ??= options.problem;
  members.others += options.others;
  members.streamOptions =
    options.usage === null
      ? { found: 'object-without-usage', closingBrace: end - 1, isEmpty: options.isEmpty }
      : { found: 'usage', value: options.usage };
  return end;
}

const readStreamOption: MemberReader<StreamOptions> = (text, options, nameStart, nameEnd, start) => {
  const end = valueEnd(text, start);
  options.isEmpty = false;
  const name = nameAmong(text.bytes, nameStart, nameEnd, options.listed);
  if (name === null && isOneTooMany(options)) return failedAt(nameStart);
  if (name === null) refuseCaseVariant(text.bytes, options, nameStart, nameEnd, 'stream_options');
  else noteName(options, name, 'stream_options');
  if (name === 'include_usage') options.usage = { start, end };
  return end;
};

export function refuseMember(members: { problem: BodyProblem | null }, param: string, what: string): void {
  members.problem ??= { message: `'${param}' ${what}`, param };
}
