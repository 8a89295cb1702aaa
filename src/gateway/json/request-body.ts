import {
  type JsonText,
  jsonText,
  nameAmong,
  numberIn,
  OPENING_BRACE,
  placeOfFailure,
  QUOTE,
  sequenceEnd,
  spaceEnd,
  stringIn,
} from './json-text.ts';
import { type MemberReader, readMembers, valueEnd } from './scan-json.ts';

type ReadModelBody =
  | { outcome: 'read'; fields: ModelBodyFields }
  | { outcome: 'invalid'; message: string; param: string | null };

/** What the gateway needs to know of a model call's body, and where the bytes are that it changes. */
export interface ModelBodyFields {
  /** As the client wrote it, unescaped. */
  readonly model: string;
  readonly stream: boolean;
  /**
   * `max_completion_tokens`, or `max_tokens` where that is not a number of at least 0: whole, rounded up and at most
   * 2^53 - 1. Null where neither is one: the upstream judges them, this is only for an estimate.
   */
  readonly maxTokens: number | null;
  /** `n`: whole, rounded down, at least 1 and at most 2^53 - 1. */
  readonly choices: number;
  /** The value of `model`, with its quotes. */
  readonly modelValue: Span;
  /** Null where there is none. */
  readonly streamOptions: StreamOptionsPlace | null;
  /** The body's own. */
  readonly closingBrace: number;
}

/** From `start` up to, not including, `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** What a body has for `stream_options`, and where. */
type StreamOptionsPlace =
  | { found: 'null'; value: Span }
  | { found: 'object-without-usage'; closingBrace: number; isEmpty: boolean }
  | { found: 'usage'; value: Span };

/**
 * One pass over the bytes. Refused is also what two parsers could read differently, since the upstream must not read
 * the body otherwise than we did: a `model`, `stream` or `stream_options` that stands twice, and a byte order mark,
 * which RFC 8259 lets a parser ignore or not. What is wrong with the JSON is said before what is wrong with a field.
 */
export function readModelBody(bytes: Uint8Array): ReadModelBody {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return invalid('the body begins with a byte order mark; send it without');
  }
  const text = jsonText(bytes);
  const start = spaceEnd(bytes, 0, bytes.length);
  if (start === bytes.length) return invalid('the body is empty; it must be a JSON object');
  const members = noMembers();
  const isObject = bytes[start] === OPENING_BRACE;
  const end = isObject ? readMembers(text, start, members, readTopLevelMember) : valueEnd(text, start);
  if (end < 0) return malformed(bytes, placeOfFailure(end));
  const rest = spaceEnd(bytes, end, bytes.length);
  if (rest < bytes.length) return malformed(bytes, rest);
  if (!isObject) return invalid('the body must be a JSON object');
  if (members.problem !== null) return invalid(members.problem.message, members.problem.param);
  if (members.model === null) return invalid("'model' is missing", 'model');
  return { outcome: 'read', fields: fieldsOf(bytes, members, members.model, end - 1) };
}

/**
 * The body as the upstream gets it: the provider's name of the model, and on a stream `include_usage`, without which
 * there would be nothing to bill by. Every other byte is the client's.
 */
export function rewriteModelBody(
  bytes: Uint8Array,
  fields: ModelBodyFields,
  providerModel: string,
): Uint8Array<ArrayBuffer> {
  const model = { span: fields.modelValue, bytes: encodedText(JSON.stringify(providerModel)) };
  if (!fields.stream) return spliced(bytes, [model]);
  const usage = usageSplice(fields);
  return spliced(bytes, usage.span.start < model.span.start ? [usage, model] : [model, usage]);
}

function fieldsOf(
  bytes: Uint8Array,
  members: BodyMembers,
  modelValue: Span,
  closingBrace: number,
): ModelBodyFields {
  return {
    model: stringIn(bytes, modelValue.start, modelValue.end),
    stream: members.stream === true,
    maxTokens: tokensIn(bytes, members.maxCompletionTokens) ?? tokensIn(bytes, members.maxTokens),
    choices: choicesIn(bytes, members.choices),
    modelValue,
    streamOptions: members.streamOptions,
    closingBrace,
  };
}

/** Rounded up: it bounds an estimate. */
function tokensIn(bytes: Uint8Array, value: Span | null): number | null {
  const tokens = value === null ? null : numberIn(bytes, value.start, value.end, 0);
  // `+ 0` makes a plain zero of -0.
  return tokens === null ? null : Math.ceil(tokens) + 0;
}

function choicesIn(bytes: Uint8Array, value: Span | null): number {
  return Math.floor((value === null ? null : numberIn(bytes, value.start, value.end, 1)) ?? 1);
}

function invalid(message: string, param: string | null = null): ReadModelBody {
  return { outcome: 'invalid', message, param };
}

/** The place is said, never what stands there: a body is the client's text, and answers end up in logs. */
function malformed(bytes: Uint8Array, place: number): ReadModelBody {
  if (place >= bytes.length) return invalid('the body is not valid JSON: it ends too early');
  const isUtf8 = (bytes[place] as number) < 0x80 || sequenceEnd(bytes, place) >= 0;
  return invalid(
    isUtf8
      ? `the body is not valid JSON: unexpected character at byte ${place}`
      : `the body is not valid UTF-8: wrong sequence at byte ${place}`,
  );
}

/** What the top level has shown so far. */
interface BodyMembers {
  /** The first thing that is wrong with a member. */
  problem: { readonly message: string; readonly param: string } | null;
  model: Span | null;
  stream: boolean | null;
  streamOptions: StreamOptionsPlace | null;
  maxTokens: Span | null;
  maxCompletionTokens: Span | null;
  choices: Span | null;
}

const memberNames = [
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
] as const;
const usageMemberNames = ['include_usage'] as const;
/** The longest name with every letter escaped. */
const LONGEST_LOOK_ALIKE = 6 * 'stream_options'.length + 2;

function noMembers(): BodyMembers {
  return {
    problem: null,
    model: null,
    stream: null,
    streamOptions: null,
    maxTokens: null,
    maxCompletionTokens: null,
    choices: null,
  };
}

/** Of a member that is not ours to judge and stands twice the last counts, as for most parsers. */
const readTopLevelMember: MemberReader<BodyMembers> = (text, members, nameStart, nameEnd, start) => {
  const name = nameAmong(text.bytes, nameStart, nameEnd, memberNames);
  if (name === 'stream_options') return readStreamOptions(text, members, start);
  const end = valueEnd(text, start);
  if (end >= 0 && name === null) refuseLookAlike(text.bytes, members, nameStart, nameEnd);
  if (end < 0 || name === null) return end;
  switch (name) {
    case 'model':
      takeModel(text.bytes, members, start, end);
      break;
    case 'stream':
      takeStream(text.bytes, members, start);
      break;
    case 'max_tokens':
      members.maxTokens = { start, end };
      break;
    case 'max_completion_tokens':
      members.maxCompletionTokens = { start, end };
      break;
    case 'n':
      members.choices = { start, end };
      break;
  }
  return end;
};

/** What tells upstream from upstream: each of these decides what a call is, and what it costs. */
const decisiveNames = ['model', 'stream', 'stream_options'] as const;

/**
 * Some parsers (Go's, for one) match names whatever the case of their letters: to them "Model" is the model, and
 * "Stream" a stream that nobody meters. No upstream may read the body otherwise than we did (G-13).
 */
function refuseLookAlike(bytes: Uint8Array, members: BodyMembers, start: number, end: number): void {
  const first = bytes[start + 1] as number;
  const mayBe = (first | 0x20) === 0x6d || (first | 0x20) === 0x73 || first === 0xc5 || first === 0x5c;
  if (!mayBe || end - start > LONGEST_LOOK_ALIKE) return;
  const folded = stringIn(bytes, start, end).toLowerCase().replaceAll('\u017f', 's');
  const name = decisiveNames.find((one) => one === folded);
  if (name !== undefined)
    refuseMember(members, name, 'stands in other letters, which some providers read as the same');
}

function takeModel(bytes: Uint8Array, members: BodyMembers, start: number, end: number): void {
  if (members.model !== null) refuseMember(members, 'model', 'stands twice');
  else if (bytes[start] !== QUOTE) refuseMember(members, 'model', 'must be a string');
  else members.model = { start, end };
}

/** The value has been scanned, so its first letter tells which word it is. */
function takeStream(bytes: Uint8Array, members: BodyMembers, start: number): void {
  const first = bytes[start];
  const isKnown = first === 0x74 || first === 0x66 || first === 0x6e;
  if (members.stream !== null) refuseMember(members, 'stream', 'stands twice');
  else if (!isKnown) refuseMember(members, 'stream', 'must be true, false or null');
  else members.stream = first === 0x74;
}

function refuseMember(members: BodyMembers, param: string, what: string): void {
  members.problem ??= { message: `'${param}' ${what}`, param };
}

interface UsageMember {
  isEmpty: boolean;
  value: Span | null;
  isTwice: boolean;
}

function readStreamOptions(text: JsonText, members: BodyMembers, start: number): number {
  const { bytes } = text;
  if (members.streamOptions !== null) refuseMember(members, 'stream_options', 'stands twice');
  if (bytes[start] !== OPENING_BRACE) {
    const end = valueEnd(text, start);
    if (bytes[start] === 0x6e) members.streamOptions = { found: 'null', value: { start, end } };
    else refuseMember(members, 'stream_options', 'must be an object or null');
    return end;
  }
  const usage: UsageMember = { isEmpty: true, value: null, isTwice: false };
  const end = readMembers(text, start, usage, readStreamOption);
  if (usage.isTwice) {
    members.problem ??= { message: "'stream_options.include_usage' stands twice", param: 'stream_options' };
  }
  members.streamOptions =
    usage.value === null
      ? { found: 'object-without-usage', closingBrace: end - 1, isEmpty: usage.isEmpty }
      : { found: 'usage', value: usage.value };
  return end;
}

const readStreamOption: MemberReader<UsageMember> = (text, usage, nameStart, nameEnd, start) => {
  const end = valueEnd(text, start);
  usage.isEmpty = false;
  if (nameAmong(text.bytes, nameStart, nameEnd, usageMemberNames) === null) return end;
  usage.isTwice ||= usage.value !== null;
  usage.value = { start, end };
  return end;
};

/** Bytes that stand in for a span of the body; an empty span is an insertion. */
interface Splice {
  readonly span: Span;
  readonly bytes: Uint8Array;
}

function usageSplice({ streamOptions, closingBrace }: ModelBodyFields): Splice {
  // No comma is missing: a body that was read has at least its model.
  if (streamOptions === null) return insertion(closingBrace, ',"stream_options":{"include_usage":true}');
  switch (streamOptions.found) {
    case 'null':
      return { span: streamOptions.value, bytes: encodedText('{"include_usage":true}') };
    case 'object-without-usage':
      return insertion(
        streamOptions.closingBrace,
        streamOptions.isEmpty ? '"include_usage":true' : ',"include_usage":true',
      );
    case 'usage':
      // Where it is true already, true for true.
      return { span: streamOptions.value, bytes: encodedText('true') };
  }
}

function insertion(at: number, text: string): Splice {
  return { span: { start: at, end: at }, bytes: encodedText(text) };
}

function encodedText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** One allocation of the final size and one copy of each part; the splices stand in the body's order. */
function spliced(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array<ArrayBuffer> {
  let length = bytes.length;
  for (const { span, bytes: inserted } of splices) length += inserted.length - (span.end - span.start);
  const result = new Uint8Array(length);
  let read = 0;
  let written = 0;
  for (const { span, bytes: inserted } of splices) {
    result.set(bytes.subarray(read, span.start), written);
    written += span.start - read;
    result.set(inserted, written);
    written += inserted.length;
    read = span.end;
  }
  result.set(bytes.subarray(read), written);
  return result;
}
