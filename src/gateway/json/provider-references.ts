import {
  isFoldedName,
  type JsonText,
  OPENING_BRACE,
  QUOTE,
  spaceEnd,
  stringIn,
  watchName,
} from './json-text.ts';
import type { BodyProblem } from './listed-names.ts';
import { OPENING_BRACKET, readElements, readMembers, valueEnd } from './scan-json.ts';

/**
 * What bodies of the Responses and Messages APIs refer to at the provider. All companies share the operator's account
 * there: a file, a conversation or a stored prompt of one must not be read by another, and a tool that the provider runs
 * costs money that no token count shows. Both are refused. Names are compared whatever the case of their letters, and
 * every one of repeated members counts, so that no parser finds a reference that this did not see.
 */
export interface ProviderReferences {
  problem: BodyProblem | null;
  /** The ids of items of earlier responses; null where there is none. */
  itemIds: string[] | null;
}

/** More than a conversation has. Past it the body is refused, so that nothing grows with the body. */
const MOST_ITEM_IDS = 1_000;
const LONGEST_ID = 200;
/** Of content within content: a tool's result that has a document that has a picture. */
const DEEPEST_CONTENT = 8;

/** A member at the top of a Responses body that the caller does not read itself; gives the end of its value. */
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
    return readTools(text, { into, wire: 'responses' }, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'input')) return readItems(text, into, start);
  for (const name of ['conversation', 'prompt'] as const) {
    if (isFoldedName(bytes, nameStart, nameEnd, name)) return refuseUnlessEmpty(text, into, start, name);
  }
  return valueEnd(text, start);
}

/** The same of a Messages body. */
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
    return readTools(text, { into, wire: 'messages' }, start);
  for (const name of ['messages', 'system'] as const) {
    if (isFoldedName(bytes, nameStart, nameEnd, name)) {
      return readContent(text, { into, param: name, depth: 0 }, start);
    }
  }
  for (const name of ['mcp_servers', 'container'] as const) {
    if (isFoldedName(bytes, nameStart, nameEnd, name)) return refuseUnlessEmpty(text, into, start, name);
  }
  return valueEnd(text, start);
}

const REFUSED_MEMBERS = {
  conversation: "Conversations stored at the provider cannot be used. Send the earlier turns in 'input'.",
  prompt: "Prompts stored at the provider cannot be used. Send the text in 'instructions' and 'input'.",
  mcp_servers: 'MCP servers that the provider calls are not enabled. Call them from your client.',
  container: 'Containers of the provider are not enabled.',
} as const;

function refuseUnlessEmpty(
  text: JsonText,
  into: ProviderReferences,
  start: number,
  param: keyof typeof REFUSED_MEMBERS,
): number {
  const end = valueEnd(text, start);
  if (end >= 0 && !isNothing(text.bytes, start)) into.problem ??= { message: REFUSED_MEMBERS[param], param };
  return end;
}

const FIRST_OF_NULL = 0x6e;
const CLOSING_BRACKET = 0x5d;

/** Null, or a list without elements. */
function isNothing(bytes: Uint8Array, start: number): boolean {
  if (bytes[start] === FIRST_OF_NULL) return true;
  return (
    bytes[start] === OPENING_BRACKET && bytes[spaceEnd(bytes, start + 1, bytes.length)] === CLOSING_BRACKET
  );
}

interface Tools {
  readonly into: ProviderReferences;
  readonly wire: keyof typeof CLIENT_TOOLS;
  readonly isGrouped?: boolean;
}

/** Those that the client runs. What is not named here may be new at the provider, and have a price. */
const CLIENT_TOOLS = {
  responses: /^(?:function|custom|local_shell|apply_patch|namespace)$/,
  messages:
    /^(?:custom|function|(?:bash|text_editor|memory|computer)_\d{8}|tool_search_tool_(?:regex|bm25)(?:_\d{8})?)$/,
} as const;

function readTools(text: JsonText, tools: Tools, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, tools, readTool)
    : valueEnd(text, start);
}

function readTool(text: JsonText, tools: Tools, start: number, index: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  return readMembers(text, start, { ...tools, index }, readToolMember);
}

function readToolMember(
  text: JsonText,
  tool: Tools & { readonly index: number },
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  // A namespace has tools of its own, and no namespace among them.
  if (tool.isGrouped !== true && isFoldedName(bytes, nameStart, nameEnd, 'tools')) {
    return readTools(text, { into: tool.into, wire: tool.wire, isGrouped: true }, start);
  }
  const end = valueEnd(text, start);
  if (end < 0 || bytes[start] !== QUOTE || !isFoldedName(bytes, nameStart, nameEnd, 'type')) return end;
  const type = end - start > LONGEST_ID ? '' : stringIn(bytes, start, end);
  if (!CLIENT_TOOLS[tool.wire].test(type) || (tool.isGrouped === true && type === 'namespace')) {
    tool.into.problem ??= { message: toolMessage(type), param: `tools[${tool.index}].type` };
  }
  return end;
}

/** Only a name that looks like one is repeated: the rest is the client's text. */
function toolMessage(type: string): string {
  const named = /^[\w.-]{1,64}$/.test(type) ? ` '${type}'` : '';
  return `The tool${named} runs at the provider and is not enabled. Use tools that your client runs, such as functions.`;
}

interface Content {
  readonly into: ProviderReferences;
  /** The member at the top that it is in. */
  readonly param: string;
  readonly depth: number;
}

/** Text, a block, or a list of blocks. What a tool was called with is any JSON and is not looked into. */
function readContent(text: JsonText, content: Content, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, content, readBlock)
    : readBlock(text, content, start);
}

function readBlock(text: JsonText, content: Content, start: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  if (content.depth === DEEPEST_CONTENT) {
    const message = `Content of '${content.param}' is nested deeper than ${DEEPEST_CONTENT} levels.`;
    content.into.problem ??= { message, param: content.param };
    return valueEnd(text, start);
  }
  return readMembers(text, start, content, readContentMember);
}

const INNER_CONTENT = ['content', 'output', 'source'] as const;

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
  const end = valueEnd(text, start);
  if (isFoldedName(bytes, nameStart, nameEnd, 'file_id') && bytes[start] !== FIRST_OF_NULL) {
    content.into.problem ??= { message: FILE_MESSAGE, param: content.param };
  }
  return end;
}

const FILE_MESSAGE =
  "Files stored at the provider ('file_id') cannot be used. Send the content itself, as data or by its address.";

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

/** An item without a type and without a role is a reference too, by its id. */
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
    return readTools(text, { into: item.into, wire: 'responses' }, start);
  }
  const end = readContentMember(text, item, nameStart, nameEnd, start);
  if (end < 0 || bytes[start] !== QUOTE) return end;
  if (isFoldedName(bytes, nameStart, nameEnd, 'role')) item.hasRole = true;
  else if (isFoldedName(bytes, nameStart, nameEnd, 'type'))
    noteItemType(item, shortString(bytes, start, end));
  else if (isFoldedName(bytes, nameStart, nameEnd, 'id')) item.id = shortString(bytes, start, end);
  return end;
}

/** Once a reference, always one: of repeated types any may be the one that counts. */
function noteItemType(item: InputItem, type: string): void {
  if (item.type !== 'reference') item.type = type === 'item_reference' ? 'reference' : 'other';
}

/** A longer one is no id of any provider: it is found nowhere. */
function shortString(bytes: Uint8Array, start: number, end: number): string {
  return end - start > LONGEST_ID ? '' : stringIn(bytes, start, end);
}
