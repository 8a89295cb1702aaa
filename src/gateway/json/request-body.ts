import { AUDIO, type Tiers } from '../../domain/models/tiers/tiers.ts';
import { type Attributed, type BodyAttribution, readAttribution } from './body-attribution.ts';
import type { ClientWire } from './client-wire.ts';
import {
  type HostedBody,
  hostedBody,
  noReferences,
  type ProviderReferences,
  type Span,
} from './hosted-parts.ts';
import {
  failedAt,
  isFoldedName,
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
  watchName,
} from './json-text.ts';
import {
  type ListedMembers,
  type ModelList,
  readModels,
  readStreamOptions,
  refuseMember,
  type StreamOptionsPlace,
  withoutModels,
} from './listed-members.ts';
import {
  isOneTooMany,
  LISTED_NAMES,
  LISTED_OF_RESPONSES,
  type ListedName,
  MOST_OTHER_MEMBERS,
  noteName,
  OUTSIDE_NAMES,
  refuseCaseVariant,
} from './listed-names.ts';
import { readChatMember, readMessagesMember, readResponsesMember } from './provider-references.ts';
import {
  type MemberReader,
  MOST_NAMES,
  OPENING_BRACKET,
  readMembers,
  readTexts,
  valueEnd,
} from './scan-json.ts';

export type ReadModelBody =
  /** `bytes` is set if they differ from those that were read: without a list of `models`. */
  | { outcome: 'read'; fields: ModelBodyFields; bytes?: Uint8Array<ArrayBuffer> }
  | { outcome: 'invalid'; message: string; param: string | null };

/** The fields of a model call's body that the gateway needs, and the positions of the bytes that it changes. */
export interface ModelBodyFields {
  /** As the client wrote it, unescaped. */
  readonly model: string;
  /** The models that answer if it does not, from the body's own list; null without one. */
  readonly models: readonly string[] | null;
  readonly stream: boolean;
  /**
   * The larger of `max_tokens` and `max_completion_tokens` (in a Responses body `max_output_tokens`), rounded up and at most
   * 2^53 - 1. Null if neither is a number above 0. The upstream validates them; this determines the hold, which the smaller
   * one must not reduce.
   */
  readonly maxTokens: number | null;
  /** The larger of `n` and `best_of`, rounded down, at least 1 and at most 2^53 - 1. */
  readonly choices: number;
  /** The number of texts in `prompt` or `input`, each of which is answered; at least 1. */
  readonly prompts: number;
  /** Whether it refers to content whose size its bytes do not show: a URL, a file id, an image, an earlier response. */
  readonly refersOutside: boolean;
  /** The value of the wire format's own maximum (`max_tokens`, `max_output_tokens`) if it is null and can be replaced. */
  readonly nullMaxTokens: Span | null;
  /** The value of `model`, with its quotes. */
  readonly modelValue: Span;
  readonly streamOptions: StreamOptionsPlace | null;
  /** The position of the last brace of the body. */
  readonly closingBrace: number;
  /** The earlier responses that a Responses body continues; null if there are none, and for other wire formats. */
  readonly earlier: EarlierResponses | null;
  /** Whether a Responses body wants the response to be stored; null if it does not specify it. */
  readonly store: boolean | null;
  /** What it needs from its provider besides the model; null for nearly every call. */
  readonly hosted: HostedBody | null;
  /** The provider's tiers that it names, and whether it has audio; null if neither. */
  readonly tiers: Tiers | null;
  /** The end user and tags that it names; null if it names none. */
  readonly attribution: BodyAttribution | null;
}

/** Earlier responses that a body refers to, by the ids in their answers. */
export interface EarlierResponses {
  readonly responseId: string | null;
  readonly itemIds: readonly string[];
}

/**
 * Reads a body in one pass over its bytes. It also refuses bodies that two parsers could read differently, because the
 * upstream must not read the body differently than we do: a listed name that is repeated or differs only in case, and a byte
 * order mark, which parsers may ignore or not (RFC 8259). Invalid JSON is reported before an invalid field.
 */
export function readModelBody(bytes: Uint8Array, wire: ClientWire = 'completions'): ReadModelBody {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return invalid('the body begins with a byte order mark; send it without');
  }
  const rules = RULES[wire];
  const text = jsonText(bytes, rules.outside);
  const start = spaceEnd(bytes, 0, bytes.length);
  if (start === bytes.length) return invalid('the body is empty; it must be a JSON object');
  const members = noMembers(rules);
  const isObject = bytes[start] === OPENING_BRACE;
  const end = isObject ? readMembers(text, start, members, readTopLevelMember) : valueEnd(text, start);
  if (text.count.names > MOST_NAMES) {
    return invalid(`the body has more than ${MOST_NAMES} names of members; send fewer or shorter messages`);
  }
  if (members.others > MOST_OTHER_MEMBERS) {
    return invalid(
      `the body has more than ${MOST_OTHER_MEMBERS} members at its top level or in 'stream_options'`,
    );
  }
  if (end < 0) return malformed(bytes, placeOfFailure(end));
  const rest = spaceEnd(bytes, end, bytes.length);
  if (rest < bytes.length) return malformed(bytes, rest);
  if (!isObject) return invalid('the body must be a JSON object');
  if (members.problem !== null) return invalid(members.problem.message, members.problem.param);
  if (members.models !== null) return readWithoutModels(bytes, members, members.models, wire);
  if (members.model === null) return invalid("'model' is missing", 'model');
  return { outcome: 'read', fields: fieldsOf(text, members, members.model, end - 1) };
}

/** Rare: such a body is read a second time. */
function readWithoutModels(
  bytes: Uint8Array,
  { model }: BodyMembers,
  list: ModelList,
  wire: ClientWire,
): ReadModelBody {
  const own = model === null ? null : stringIn(bytes, model.start, model.end);
  const { bytes: rest, names: models } = withoutModels(bytes, list, own);
  const read = readModelBody(rest, wire);
  return read.outcome === 'read' ? { ...read, bytes: rest, fields: { ...read.fields, models } } : read;
}

/** Whether the client requested the usage chunk of its stream. */
export function asksForUsage(
  bytes: Uint8Array,
  { streamOptions }: Pick<ModelBodyFields, 'streamOptions'>,
): boolean {
  return streamOptions?.found === 'usage' && bytes[streamOptions.value.start] === 0x74;
}

function fieldsOf(
  { bytes, watch }: JsonText,
  members: BodyMembers,
  modelValue: Span,
  closingBrace: number,
): ModelBodyFields {
  const { maximum, otherMaximum, responseId, itemIds } = members;
  const isNull = maximum !== null && bytes[maximum.start] === FIRST_OF_NULL;
  return {
    model: stringIn(bytes, modelValue.start, modelValue.end),
    models: null,
    stream: members.stream === true,
    maxTokens: larger(tokensIn(bytes, maximum), tokensIn(bytes, otherMaximum)),
    choices: Math.max(choicesIn(bytes, members.choices), choicesIn(bytes, members.bestOf)),
    prompts: members.prompts,
    refersOutside: watch.found,
    nullMaxTokens: isNull ? maximum : null,
    modelValue,
    streamOptions: members.streamOptions,
    closingBrace,
    earlier: responseId === null && itemIds === null ? null : { responseId, itemIds: itemIds ?? [] },
    store: members.store,
    hosted: members.hosted === null ? null : hostedBody(members, members.hosted),
    tiers: members.hasAudio ? { ...members.tiers, modalities: AUDIO } : members.tiers,
    attribution: members.attribution,
  };
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Rounded up, because it limits what is held. 0 is not a maximum: some providers treat it as unlimited. */
function tokensIn(bytes: Uint8Array, value: Span | null): number | null {
  const tokens = numberAt(bytes, value, 0);
  return tokens === null || tokens === 0 ? null : Math.ceil(tokens);
}

function choicesIn(bytes: Uint8Array, value: Span | null): number {
  return Math.floor(numberAt(bytes, value, 1) ?? 1);
}

/** A number in quotes counts: providers that check types loosely accept it. */
function numberAt(bytes: Uint8Array, value: Span | null, least: number): number | null {
  if (value === null) return null;
  if (bytes[value.start] !== QUOTE) return numberIn(bytes, value.start, value.end, least);
  const number = Number(stringIn(bytes, value.start, value.end).replaceAll('_', ''));
  return number >= least ? Math.min(number, Number.MAX_SAFE_INTEGER) : null;
}

function invalid(message: string, param: string | null = null): ReadModelBody {
  return { outcome: 'invalid', message, param };
}

/** Reports the position, never the content: a body is the client's text, and answers end up in logs. */
function malformed(bytes: Uint8Array, place: number): ReadModelBody {
  if (place >= bytes.length) return invalid('the body is not valid JSON: it ends too early');
  const isUtf8 = (bytes[place] as number) < 0x80 || sequenceEnd(bytes, place) >= 0;
  return invalid(
    isUtf8
      ? `the body is not valid JSON: unexpected character at byte ${place}`
      : `the body is not valid UTF-8: wrong sequence at byte ${place}`,
  );
}

/** The top-level members read so far. */
interface BodyMembers extends ProviderReferences, ListedMembers, Attributed {
  readonly rules: WireRules;
  model: Span | null;
  stream: boolean | null;
  maximum: Span | null;
  otherMaximum: Span | null;
  choices: Span | null;
  bestOf: Span | null;
  prompts: number;
  responseId: string | null;
  store: boolean | null;
  tiers: Tiers | null;
}

/** How bodies of a wire format are read. */
interface WireRules {
  readonly listed: readonly ListedName[];
  readonly outside: readonly string[];
  readonly maximum: ListedName;
  readonly otherMaximum: ListedName | null;
  /** Reads a member that is not listed. */
  readonly readOther: MemberReader<BodyMembers>;
}

const RULES: Readonly<Record<ClientWire, WireRules>> = {
  completions: {
    listed: LISTED_NAMES,
    outside: OUTSIDE_NAMES,
    maximum: 'max_tokens',
    otherMaximum: 'max_completion_tokens',
    readOther: readTextsMember,
  },
  responses: {
    listed: LISTED_OF_RESPONSES,
    outside: OUTSIDE_NAMES,
    maximum: 'max_output_tokens',
    otherMaximum: null,
    readOther: readResponsesMember,
  },
  messages: {
    listed: LISTED_NAMES,
    // The source of images and documents, which may be a URL.
    outside: [...OUTSIDE_NAMES, 'source'],
    maximum: 'max_tokens',
    otherMaximum: null,
    readOther: readMessagesMember,
  },
};

function noMembers(rules: WireRules): BodyMembers {
  return {
    rules,
    listed: rules.listed,
    others: 0,
    problem: null,
    model: null,
    stream: null,
    streamOptions: null,
    models: null,
    maximum: null,
    otherMaximum: null,
    choices: null,
    bestOf: null,
    prompts: 1,
    responseId: null,
    store: null,
    tiers: null,
    seen: 0,
    attribution: null,
    ...noReferences(),
  };
}

/** If members that are not listed are repeated, the last one counts, as in most parsers. */
const readTopLevelMember: MemberReader<BodyMembers> = (text, members, nameStart, nameEnd, start) => {
  const { bytes } = text;
  const { rules } = members;
  const name = nameAmong(bytes, nameStart, nameEnd, rules.listed);
  if (name === null) {
    if (isOneTooMany(members)) return failedAt(nameStart);
    refuseCaseVariant(bytes, members, nameStart, nameEnd, '');
    const end = readAttribution(text, members, nameStart, nameEnd, start);
    return end !== 0 ? end : rules.readOther(text, members, nameStart, nameEnd, start);
  }
  noteName(members, name, '');
  if (name === 'stream_options') return readStreamOptions(text, members, start);
  if (name === 'models') return readModels(text, members, nameStart, start);
  const end = valueEnd(text, start);
  if (end < 0) return end;
  if (name === rules.maximum) members.maximum = { start, end };
  else if (name === rules.otherMaximum) members.otherMaximum = { start, end };
  else takeMember(text, members, name, start, end);
  return end;
};

function takeMember(
  { bytes, watch }: JsonText,
  members: BodyMembers,
  name: ListedName,
  start: number,
  end: number,
): void {
  switch (name) {
    case 'model':
      if (bytes[start] === QUOTE) members.model = { start, end };
      else refuseMember(members, 'model', 'must be a string');
      break;
    case 'stream':
    case 'store':
      members[name] = takeFlag(bytes, members, name, start);
      break;
    case 'background':
      if (takeFlag(bytes, members, name, start) === true) refuseMember(members, name, NO_BACKGROUND);
      break;
    case 'n':
      members.choices = { start, end };
      break;
    case 'best_of':
      members.bestOf = { start, end };
      break;
    case 'service_tier':
    case 'speed':
    case 'inference_geo':
      if (bytes[start] === FIRST_OF_NULL) break;
      if (bytes[start] === QUOTE) members.tiers = { ...members.tiers, [name]: stringIn(bytes, start, end) };
      else refuseMember(members, name, 'must be a string or null');
      break;
    case 'max_tool_calls':
      members.maxToolCalls = { start, end };
      break;
    case 'previous_response_id':
      if (bytes[start] === FIRST_OF_NULL) break;
      watch.found = true;
      if (bytes[start] === QUOTE) members.responseId = stringIn(bytes, start, end);
      else refuseMember(members, name, 'must be a string or null');
      break;
  }
}

const NO_BACKGROUND = 'is not supported: leave it out, and use stream: true for long answers';

function readTextsMember(
  text: JsonText,
  members: BodyMembers,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  const isTexts = bytes[start] === OPENING_BRACKET && namesTexts(bytes, nameStart, nameEnd);
  if (!isTexts) return readChatMember(text, members, nameStart, nameEnd, start);
  watchName(text, nameStart, nameEnd);
  const { end, texts } = readTexts(text, start);
  // The maximum, because the upstream may use either.
  members.prompts = Math.max(members.prompts, texts);
  return end;
}

function namesTexts(bytes: Uint8Array, start: number, end: number): boolean {
  return isFoldedName(bytes, start, end, 'prompt') || isFoldedName(bytes, start, end, 'input');
}

const FIRST_OF_NULL = 0x6e;

/** The first letter identifies the word. Null for null and for refused values. */
function takeFlag(bytes: Uint8Array, members: BodyMembers, name: string, start: number): boolean | null {
  const first = bytes[start];
  const isKnown = first === 0x74 || first === 0x66 || first === FIRST_OF_NULL;
  if (!isKnown) refuseMember(members, name, 'must be true, false or null');
  return first === 0x74 ? true : first === 0x66 ? false : null;
}
