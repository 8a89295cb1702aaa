import {
  type BodyMembers,
  noMembers,
  readTopLevelMember,
  type Span,
  type StreamOptionsPlace,
} from './body-members.ts';
import { numberIn, stringIn } from './json-values.ts';
import { OPENING_BRACE, readMembers, spaceEnd, valueEnd } from './scan-json.ts';
import { jsonText, placeOfFailure, sequenceEnd } from './scan-string.ts';

export type ReadModelBody =
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
  const start = spaceEnd(bytes, 0);
  if (start === bytes.length) return invalid('the body is empty; it must be a JSON object');
  const members = noMembers();
  const isObject = bytes[start] === OPENING_BRACE;
  const end = isObject ? readMembers(text, start, members, readTopLevelMember) : valueEnd(text, start);
  if (end < 0) return malformed(bytes, placeOfFailure(end));
  const rest = spaceEnd(bytes, end);
  if (rest < bytes.length) return malformed(bytes, rest);
  if (!isObject) return invalid('the body must be a JSON object');
  if (members.problem !== null) return invalid(members.problem.message, members.problem.param);
  if (members.model === null) return invalid("'model' is missing", 'model');
  return { outcome: 'read', fields: fieldsOf(bytes, members, members.model, end - 1) };
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
