import { nameAmong, stringIn } from './json-values.ts';
import { type MemberReader, OPENING_BRACE, readMembers, valueEnd } from './scan-json.ts';
import type { JsonText } from './scan-string.ts';

/** From `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What a body has for `stream_options`, and where. */
export type StreamOptionsPlace =
  | { found: 'null'; value: Span }
  | { found: 'object-without-usage'; closingBrace: number; isEmpty: boolean }
  | { found: 'usage'; value: Span };

/** What the top level has shown so far. */
export interface BodyMembers {
  /** The first thing that is wrong with a member. */
  problem: { readonly message: string; readonly param: string } | null;
  model: Span | null;
  stream: boolean | null;
  streamOptions: StreamOptionsPlace | null;
  maxTokens: Span | null;
  maxCompletionTokens: Span | null;
  choices: Span | null;
}

const names = ['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n'] as const;
const usageNames = ['include_usage'] as const;
/** The longest name with every letter escaped. */
const LONGEST_LOOK_ALIKE = 6 * 'stream_options'.length + 2;

export function noMembers(): BodyMembers {
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
export const readTopLevelMember: MemberReader<BodyMembers> = (text, members, nameStart, nameEnd, start) => {
  const name = nameAmong(text.bytes, nameStart, nameEnd, names);
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
    refuse(members, name, 'stands in other letters, which some providers read as the same');
}

function takeModel(bytes: Uint8Array, members: BodyMembers, start: number, end: number): void {
  if (members.model !== null) refuse(members, 'model', 'stands twice');
  else if (bytes[start] !== 0x22) refuse(members, 'model', 'must be a string');
  else members.model = { start, end };
}

/** The value has been scanned, so its first letter tells which word it is. */
function takeStream(bytes: Uint8Array, members: BodyMembers, start: number): void {
  const first = bytes[start];
  const isKnown = first === 0x74 || first === 0x66 || first === 0x6e;
  if (members.stream !== null) refuse(members, 'stream', 'stands twice');
  else if (!isKnown) refuse(members, 'stream', 'must be true, false or null');
  else members.stream = first === 0x74;
}

function refuse(members: BodyMembers, param: string, what: string): void {
  members.problem ??= { message: `'${param}' ${what}`, param };
}

interface UsageMember {
  isEmpty: boolean;
  value: Span | null;
  isTwice: boolean;
}

function readStreamOptions(text: JsonText, members: BodyMembers, start: number): number {
  const { bytes } = text;
  if (members.streamOptions !== null) refuse(members, 'stream_options', 'stands twice');
  if (bytes[start] !== OPENING_BRACE) {
    const end = valueEnd(text, start);
    if (bytes[start] === 0x6e) members.streamOptions = { found: 'null', value: { start, end } };
    else refuse(members, 'stream_options', 'must be an object or null');
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
  if (nameAmong(text.bytes, nameStart, nameEnd, usageNames) === null) return end;
  usage.isTwice ||= usage.value !== null;
  usage.value = { start, end };
  return end;
};
