import { SEARCH_MEMBERS } from '../../domain/models/tiers/unpriced-fields.ts';
import {
  addId,
  addTool,
  type Content,
  DEEPEST_CONTENT,
  isNothing,
  MCP_SERVERS,
  memberNamingModel,
  PROMPT_IDS,
  type ProviderReferences,
  readIds,
  readOwnTools,
  readTools,
  refuseDepth,
  shortString,
  THREAD,
  TOOL_IDS,
} from './hosted-parts.ts';
import { isFoldedName, type JsonText, jsonText, OPENING_BRACE, QUOTE, watchName } from './json-text.ts';
import { OPENING_BRACKET, readElements, readMembers, valueEnd } from './scan-json.ts';

/** More than a conversation has. Bodies with more are refused, so that memory does not grow with the body. */
const MOST_ITEM_IDS = 1_000;

/** Reads a top-level member of a Responses body that the caller does not read itself. Returns the end of its value. */
export function readResponsesMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  if (isFoldedName(bytes, nameStart, nameEnd, 'tools'))
    return readOwnTools(text, into, 'responses', nameStart, nameEnd, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'input')) return readItems(text, into, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'tool_choice')) return readToolChoice(text, into, start);
  for (const param of ['conversation', 'prompt'] as const) {
    if (isFoldedName(bytes, nameStart, nameEnd, param)) {
      return readIds(text, { into, param, depth: 0, names: PROMPT_IDS, isNamed: true }, start);
    }
  }
  return readRouterMember(text, into, nameStart, nameEnd, start);
}

/** The same for a Messages body. */
export function readMessagesMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  if (isFoldedName(bytes, nameStart, nameEnd, 'tools'))
    return readOwnTools(text, into, 'messages', nameStart, nameEnd, start);
  for (const name of ['messages', 'system'] as const) {
    if (isFoldedName(bytes, nameStart, nameEnd, name)) {
      return readContent(text, { into, param: name, depth: 0 }, start);
    }
  }
  if (isFoldedName(bytes, nameStart, nameEnd, 'tool_choice')) return readToolChoice(text, into, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'container')) {
    return readIds(text, { into, param: 'container', depth: 0, names: TOOL_IDS, isNamed: true }, start);
  }
  if (isFoldedName(bytes, nameStart, nameEnd, MCP_SERVERS)) {
    return readToolMember(text, into, start, 'mcp_toolset', MCP_SERVERS);
  }
  if (isFoldedName(bytes, nameStart, nameEnd, THREAD) && !isNothing(bytes, start))
    into.problem ??= { message: NO_THREAD, param: THREAD };
  return readRouterMember(text, into, nameStart, nameEnd, start);
}

/** A conversation that Anthropic stores, whose length the body does not show. */
const NO_THREAD = `'${THREAD}' is not supported: conversations are not stored at the provider. Send all messages without it.`;

/** The same for chat completions. Messages are parsed only if they contain one of the watched names. */
export function readChatMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes, watch } = text;
  watchName(text, nameStart, nameEnd);
  if (isFoldedName(bytes, nameStart, nameEnd, 'messages')) {
    const hadFound = watch.found;
    watch.found = false;
    const end = valueEnd(text, start);
    const { found } = watch;
    watch.found = found || hadFound;
    return end < 0 || !found
      ? end
      : readContent(jsonText(bytes), { into, param: 'messages', depth: 0 }, start);
  }
  if (isFoldedName(bytes, nameStart, nameEnd, 'tools'))
    return readOwnTools(text, into, 'completions', nameStart, nameEnd, start);
  for (const param of SEARCH_MEMBERS) {
    if (isFoldedName(bytes, nameStart, nameEnd, param)) {
      return readToolMember(text, into, start, SEARCH_TYPE, param);
    }
  }
  // The second is the name of earlier versions.
  if (
    isFoldedName(bytes, nameStart, nameEnd, 'data_sources') ||
    isFoldedName(bytes, nameStart, nameEnd, 'datasources')
  )
    return readDataSources(text, into, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'deferred') && !isNothing(bytes, start))
    into.problem ??= { message: NO_DEFERRED, param: 'deferred' };
  if (isFoldedName(bytes, nameStart, nameEnd, 'prompt') && bytes[start] === OPENING_BRACE)
    return readIds(text, { into, param: 'prompt', depth: 0, names: PROMPT_IDS, isNamed: false }, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'google') || isFoldedName(bytes, nameStart, nameEnd, CACHED))
    return readGoogleMember(text, into, nameStart, nameEnd, start);
  return readRouterMember(text, into, nameStart, nameEnd, start);
}

/**
 * Indexes and databases that Azure searches for the call, with the rights of the operator's resource if the client says so.
 * No id names them alone, so only an alias that allows every id has them.
 */
function readDataSources(text: JsonText, into: ProviderReferences, start: number): number {
  const end = valueEnd(text, start);
  if (end < 0 || isNothing(text.bytes, start)) return end;
  text.watch.found = true;
  addId(into, '', 'data_sources');
  return end;
}

/** xAI answers with an id alone: nothing of such a call could be charged, and its answer could not be read here. */
const NO_DEFERRED = "'deferred' is not supported: leave it out, and use stream: true for long answers.";

const CACHED = 'cached_content';
const CACHED_IDS = /^cached_?content$/iu;

/** Content that is cached in the operator's Google account, under `google` in `extra_body` or at the top level. */
function readGoogleMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  const isNamed = isFoldedName(bytes, nameStart, nameEnd, CACHED);
  if (!isNamed && !isFoldedName(bytes, nameStart, nameEnd, 'google')) return valueEnd(text, start);
  return readIds(text, { into, param: CACHED, depth: 0, names: CACHED_IDS, isNamed }, start);
}

/** The type under which such a member is collected. */
const SEARCH_TYPE = 'web_search';

/** What a top-level member of any wire format is, by the first letter of its name. */
type RouterMember = readonly [name: string, kind: 'ids' | 'model' | 'models-within' | 'plugins' | 'extra'];

/**
 * Members that some provider reads in one of the wire formats. `ids`: what is stored in the operator's account. `model`: other
 * models or configurations, which would pass the allowlist of the key; `preset` is one in the operator's account.
 */
const ROUTER_MEMBERS: readonly RouterMember[] = [
  ...(['conversation', 'conversation_id', 'container', 'container_id', 'file_id', 'file_ids'] as const),
  ...(['vector_store_id', 'vector_store_ids', 'previous_response_id', 'thread_id', 'assistant_id'] as const),
  ...(['tool_resources', 'preset'] as const),
]
  .map((name): RouterMember => [name, 'ids'])
  .concat(
    (['fallbacks', 'fallback_models', 'context_window_fallbacks', 'content_policy_fallbacks'] as const).map(
      (name) => [name, 'model'],
    ),
    [
      ['route', 'model'],
      ['model_list', 'model'],
      ['compound_custom', 'models-within'],
      ['plugins', 'plugins'],
      ['extra_body', 'extra'],
    ],
  );

const BY_FIRST_LETTER = new Map(
  [...new Set(ROUTER_MEMBERS.map(([name]) => name.charCodeAt(0)))].map((letter) => [
    letter,
    ROUTER_MEMBERS.filter(([name]) => name.charCodeAt(0) === letter),
  ]),
);
const NO_MEMBERS: readonly RouterMember[] = [];

/** None of the names begins with a letter that Unicode folds from another one: only an escape hides it. */
function routerMember(bytes: Uint8Array, nameStart: number, nameEnd: number): RouterMember | undefined {
  const first = (bytes[nameStart + 1] as number) | 0x20;
  const listed = first === FOLDED_BACKSLASH ? ROUTER_MEMBERS : (BY_FIRST_LETTER.get(first) ?? NO_MEMBERS);
  return listed.find(([name]) => isFoldedName(bytes, nameStart, nameEnd, name));
}

/** Members of every wire format that ask for audio, and ROUTER_MEMBERS. */
function readRouterMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes, watch } = text;
  if (mayBeginWith(bytes, nameStart, 0x61, 0x6d)) {
    if (isFoldedName(bytes, nameStart, nameEnd, 'audio') && !isNothing(bytes, start)) into.hasAudio = true;
    if (isFoldedName(bytes, nameStart, nameEnd, 'modalities')) return readModalities(text, into, start);
  }
  const known = routerMember(bytes, nameStart, nameEnd);
  if (known === undefined || isNothing(bytes, start)) return valueEnd(text, start);
  const [param, kind] = known;
  switch (kind) {
    case 'ids': {
      watch.found = true;
      const names = param === 'preset' ? PROMPT_IDS : TOOL_IDS;
      return readIds(text, { into, param, depth: 0, names, isNamed: param !== 'tool_resources' }, start);
    }
    case 'model':
      into.problem ??= { message: otherModelMessage(param), param };
      return valueEnd(text, start);
    case 'plugins':
    case 'models-within': {
      const end =
        kind === 'plugins' ? readToolMember(text, into, start, SEARCH_TYPE, param) : valueEnd(text, start);
      const named = end < 0 ? null : memberNamingModel(bytes, start);
      if (named !== null) into.problem ??= { message: otherModelMessage(param, named), param };
      return end;
    }
    case 'extra':
      return bytes[start] === OPENING_BRACE
        ? readMembers(text, start, into, readExtraMember)
        : valueEnd(text, start);
  }
}

/** Members under `extra_body`, which some proxies read as if they were at the top level. */
function readExtraMember(
  text: JsonText,
  into: ProviderReferences,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  for (const param of ['model', 'models'] as const) {
    if (!isFoldedName(bytes, nameStart, nameEnd, param) || isNothing(bytes, start)) continue;
    into.problem ??= { message: otherModelMessage('extra_body', param), param: 'extra_body' };
  }
  // One level: what is nested deeper is read by no proxy.
  if (isFoldedName(bytes, nameStart, nameEnd, 'extra_body')) return valueEnd(text, start);
  return readChatMember(text, into, nameStart, nameEnd, start);
}

/** `within` is the member of a member that names the model, if it is not the member itself. */
export function otherModelMessage(param: string, within: string | null = null): string {
  // Repeats a name only if it looks like one: anything else is the client's text.
  const named = within !== null && /^[\w.-]{1,64}$/.test(within) ? ` ('${within}')` : '';
  return `'${param}'${named} names another model or configuration of the provider, which cannot be used here. Leave it out, and send other models in 'models'.`;
}

/** Whether a name begins with one of two letters in either case, or with an escape: others need no comparison. */
function mayBeginWith(bytes: Uint8Array, nameStart: number, one: number, other: number): boolean {
  const first = (bytes[nameStart + 1] as number) | 0x20;
  return first === one || first === other || first === FOLDED_BACKSLASH;
}

const FOLDED_BACKSLASH = 0x5c | 0x20;

/** What the answer may consist of, usually a list. */
function readModalities(text: JsonText, into: ProviderReferences, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, into, readModality)
    : readModality(text, into, start);
}

function readModality(text: JsonText, into: ProviderReferences, start: number): number {
  const end = valueEnd(text, start);
  const isText = end >= 0 && text.bytes[start] === QUOTE;
  if (isText && shortString(text.bytes, start, end).toLowerCase() === 'audio') into.hasAudio = true;
  return end;
}

/** Reads a member that makes the provider run a tool, unless it is empty. */
function readToolMember(
  text: JsonText,
  into: ProviderReferences,
  start: number,
  type: string,
  param: string,
): number {
  const end = valueEnd(text, start);
  if (end >= 0 && !isNothing(text.bytes, start)) addTool(into, { type, param, span: null, maxUses: null });
  return end;
}

const MOST_CHOICES = 8;

/** Collects the client's choice of a tool. A valid body has at most one. */
function readToolChoice(text: JsonText, into: ProviderReferences, start: number): number {
  const end = valueEnd(text, start);
  into.toolChoices ??= [];
  if (end >= 0 && into.toolChoices.length < MOST_CHOICES) into.toolChoices.push({ start, end });
  return end;
}

/** Reads a text, a block, or a list of blocks. The arguments of tool calls can be any JSON and are not parsed. */
function readContent(text: JsonText, content: Content, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, content, readBlock)
    : readBlock(text, content, start);
}

function readBlock(text: JsonText, content: Content, start: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  if (content.depth === DEEPEST_CONTENT) {
    refuseDepth(content.into, content.param);
    return valueEnd(text, start);
  }
  return readMembers(text, start, content, readContentMember);
}

/** The last one contains files in chat completions. */
const INNER_CONTENT = ['content', 'output', 'source', 'file'] as const;
/** Clients send back calls of a code interpreter, which name their container. */
const CONTENT_IDS = ['file_id', 'container_id'] as const;
/** The parts of OpenAI and vLLM, and an earlier answer in audio. */
const CONTENT_AUDIO = ['input_audio', 'audio_url', 'audio'] as const;
/** Parts of other media, from whose URL or media type some servers take audio too. The first two may be objects. */
const URL_PARTS = ['image_url', 'video_url'] as const;
const MEDIA_NAMES = [
  ...URL_PARTS,
  ...(['url', 'file_url', 'file_data', 'media_type', 'mime_type', 'mimetype', 'format'] as const),
];

function readContentMember(
  text: JsonText,
  content: Content,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  for (const name of INNER_CONTENT) {
    if (!isFoldedName(bytes, nameStart, nameEnd, name)) continue;
    return readContent(text, { ...content, depth: content.depth + 1 }, start);
  }
  for (const name of CONTENT_IDS) {
    if (!isFoldedName(bytes, nameStart, nameEnd, name)) continue;
    return readIds(text, { ...content, names: TOOL_IDS, isNamed: true }, start);
  }
  if (mayBeginWith(bytes, nameStart, 0x61, 0x69)) {
    const isAudio = CONTENT_AUDIO.some((name) => isFoldedName(bytes, nameStart, nameEnd, name));
    if (isAudio && !isNothing(bytes, start)) content.into.hasAudio = true;
  }
  if (bytes[start] === OPENING_BRACE && isAmong(URL_PARTS, bytes, nameStart, nameEnd)) {
    return readContent(text, { ...content, depth: content.depth + 1 }, start);
  }
  const end = valueEnd(text, start);
  if (end >= 0 && mayNameAudio(bytes, start) && isAmong(MEDIA_NAMES, bytes, nameStart, nameEnd)) {
    if (AUDIO_MEDIA.test(beginningOf(bytes, start, end))) content.into.hasAudio = true;
  }
  return end;
}

function isAmong(names: readonly string[], bytes: Uint8Array, nameStart: number, nameEnd: number): boolean {
  return names.some((name) => isFoldedName(bytes, nameStart, nameEnd, name));
}

const AUDIO_MEDIA = /^(?:data:)?audio\//i;
/** The longest such beginning with each character escaped. */
const LONGEST_BEGINNING = 6 * 'data:audio/'.length;

/** Whether a value is a text that begins like `audio/` or `data:`, or with an escape: two letters show it for nearly all. */
function mayNameAudio(bytes: Uint8Array, start: number): boolean {
  if (bytes[start] !== QUOTE) return false;
  const first = (bytes[start + 1] as number) | 0x20;
  if (first !== 0x61 && first !== 0x64) return first === FOLDED_BACKSLASH;
  const second = (bytes[start + 2] as number) | 0x20;
  return second === FOLDED_BACKSLASH || second === (first === 0x61 ? 0x75 : 0x61);
}

/** The first characters of a scanned string, ASCII only. A slash may be escaped by itself, as PHP does. */
function beginningOf(bytes: Uint8Array, start: number, end: number): string {
  const written = bytes.subarray(start + 1, Math.min(end - 1, start + 1 + LONGEST_BEGINNING));
  return String.fromCharCode(...written)
    .replace(/\\u00([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\\/', '/');
}

interface InputItem extends Content {
  type: 'none' | 'reference' | 'other';
  hasRole: boolean;
  id: string | null;
}

function readItems(text: JsonText, into: ProviderReferences, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, into, readItem)
    : valueEnd(text, start);
}

/** An item with an id but without a type and a role is a reference too. */
function readItem(text: JsonText, into: ProviderReferences, start: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  const item: InputItem = { into, param: 'input', depth: 0, type: 'none', hasRole: false, id: null };
  const end = readMembers(text, start, item, readItemMember);
  const isReference = item.type === 'reference' || (item.type === 'none' && !item.hasRole);
  if (!isReference || item.id === null) return end;
  text.watch.found = true;
  into.itemIds ??= [];
  if (into.itemIds.length < MOST_ITEM_IDS) into.itemIds.push(item.id);
  else {
    const message = `'input' refers to more than ${MOST_ITEM_IDS} earlier items. Send the items themselves.`;
    into.problem ??= { message, param: 'input' };
  }
  return end;
}

function readItemMember(
  text: JsonText,
  item: InputItem,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  if (isFoldedName(bytes, nameStart, nameEnd, 'tools')) {
    return readTools(text, { into: item.into, wire: 'responses', isGrouped: true }, start);
  }
  const end = readContentMember(text, item, nameStart, nameEnd, start);
  if (end < 0 || bytes[start] !== QUOTE) return end;
  if (isFoldedName(bytes, nameStart, nameEnd, 'role')) item.hasRole = true;
  else if (isFoldedName(bytes, nameStart, nameEnd, 'type'))
    noteItemType(item, shortString(bytes, start, end));
  else if (isFoldedName(bytes, nameStart, nameEnd, 'id')) item.id = shortString(bytes, start, end);
  return end;
}

/** A reference stays one: if types are repeated, any of them may be the one that counts. */
function noteItemType(item: InputItem, type: string): void {
  if (item.type !== 'reference') item.type = type === 'item_reference' ? 'reference' : 'other';
}
