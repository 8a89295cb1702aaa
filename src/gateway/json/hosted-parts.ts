import {
  isFoldedName,
  isName,
  type JsonText,
  jsonText,
  OPENING_BRACE,
  QUOTE,
  spaceEnd,
  stringIn,
  watchName,
} from './json-text.ts';
import type { BodyProblem } from './listed-names.ts';
import { OPENING_BRACKET, readElements, readMembers, valueEnd } from './scan-json.ts';

/**
 * References of a body to the provider. All companies share the operator's account there: a file, a conversation or a stored
 * prompt of one company must not be read by another, and a tool that the provider runs has costs beyond tokens. Both are
 * collected here, and admission refuses them unless the alias has them enabled (admission/hosted-tools.ts). Names are
 * compared regardless of case, and all repeated members count, so that no parser finds a reference that this one missed.
 */
export interface ProviderReferences {
  problem: BodyProblem | null;
  /** The ids of items of earlier responses; null if there are none. */
  itemIds: string[] | null;
  /** Null if the body needs nothing from the provider except its model. */
  hosted: HostedParts | null;
  /** The last `tools`; null if there is none. */
  tools: Span | null;
  /** How often `tools` occurs, in any spelling; an inexact spelling counts as two. */
  toolsSeen: number;
  /** The values of `tool_choice`. */
  toolChoices: Span[] | null;
  /** The value of `max_tool_calls` in a Responses body. */
  maxToolCalls: Span | null;
  /** Whether it sends audio or asks for it. */
  hasAudio: boolean;
}

export function noReferences() {
  const tools = { tools: null, toolsSeen: 0, toolChoices: null, maxToolCalls: null };
  return { itemIds: null, hosted: null, hasAudio: false, ...tools };
}

/** From `start` to `end`, exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface HostedParts {
  readonly tools: HostedToolUse[];
  readonly ids: ProviderId[];
}

export interface HostedToolUse {
  /** As written in the body; empty if it is too long for a type. */
  readonly type: string;
  readonly param: string;
  /** The tool's object; null for a top-level member. */
  readonly span: Span | null;
  /** The tool's own `max_uses`; null if it has none. */
  readonly maxUses: Span | null;
  /** It is in a nested list, in which hosted tools cannot be enabled. */
  readonly isGrouped?: boolean;
  /** The name of a member of it that names another model; null or omitted if there is none. */
  readonly modelMember?: string | null;
}

/** The id of an object stored at the provider. */
interface ProviderId {
  readonly id: string;
  readonly param: string;
}

/** The hosted tools and provider ids that a body names, and the positions of related fields. */
export interface HostedBody extends HostedParts {
  readonly maxToolCalls: Span | null;
  /** The list of tools; null if there is none, or if it is repeated or its name is not spelled exactly. */
  readonly toolList: Span | null;
  readonly toolChoices: readonly Span[];
}

export function hostedBody(found: ProviderReferences, { tools, ids }: HostedParts): HostedBody {
  const toolList = found.toolsSeen === 1 ? found.tools : null;
  return { tools, ids, toolList, maxToolCalls: found.maxToolCalls, toolChoices: found.toolChoices ?? [] };
}

/** The member of a Messages body that lists them. */
export const MCP_SERVERS = 'mcp_servers';

/** The member of a Messages body for a conversation that Anthropic stores between calls. */
export const THREAD = 'thread';

/** More than any client sends. Bodies with more are refused, so that memory does not grow with the body. */
const MOST_HOSTED = 64;
const MOST_IDS = 1_000;

function hostedOf(into: ProviderReferences): HostedParts {
  into.hosted ??= { tools: [], ids: [] };
  return into.hosted;
}

export function addTool(into: ProviderReferences, tool: HostedToolUse): void {
  const { tools } = hostedOf(into);
  if (tools.length < MOST_HOSTED) tools.push(tool);
  else into.problem ??= { message: `The body has more than ${MOST_HOSTED} hosted tools.`, param: 'tools' };
}

export function addId(into: ProviderReferences, id: string, param: string): void {
  const { ids } = hostedOf(into);
  if (ids.length < MOST_IDS) ids.push({ id, param });
  else into.problem ??= { message: `'${param}' names more than ${MOST_IDS} ids of the provider.`, param };
}

/** The limit for nested content, such as an image in a document in a tool result. */
export const DEEPEST_CONTENT = 8;

export interface Content {
  readonly into: ProviderReferences;
  /** The top-level member that contains it. */
  readonly param: string;
  readonly depth: number;
}

interface IdsWithin extends Content {
  /** Names whose values are ids. */
  readonly names: RegExp;
  /** Whether the value itself is an id. */
  readonly isNamed: boolean;
}

/**
 * Names of ids in a hosted tool and its container, and of Google's stores, which have names instead. `iu` also matches the
 * long s, as some parsers do.
 */
export const TOOL_IDS =
  /(?:^|_)ids?$|^(?:file|vectorstore|collection|library|skill|container)ids?$|^container$|^(?:file_?search_?store_?names?|data_?store|rag_?corp(?:us|ora))$/iu;
/** Names of ids in a stored prompt, whose variables have names chosen by the client. */
export const PROMPT_IDS = /^(?:id|file_ids?|vector_store_ids?)$/iu;

/** Collects ids within a value: strings under a matching name, at any depth that content may have. */
export function readIds(text: JsonText, within: IdsWithin, start: number): number {
  const { into, param, depth, isNamed } = within;
  const first = text.bytes[start];
  if (first === OPENING_BRACE || first === OPENING_BRACKET) {
    if (depth === DEEPEST_CONTENT) {
      refuseDepth(into, param);
      return valueEnd(text, start);
    }
    const deeper = { ...within, depth: depth + 1 };
    return first === OPENING_BRACKET
      ? readElements(text, start, deeper, readIds)
      : readMembers(text, start, deeper, readIdMember);
  }
  const end = valueEnd(text, start);
  if (end < 0 || !isNamed || first === FIRST_OF_NULL) return end;
  if (first === QUOTE) addId(into, shortString(text.bytes, start, end), param);
  else into.problem ??= { message: `An id in '${param}' must be a string.`, param };
  return end;
}

function readIdMember(
  text: JsonText,
  within: IdsWithin,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  watchName(text, nameStart, nameEnd);
  const isNamed = within.names.test(shortString(text.bytes, nameStart, nameEnd));
  return readIds(text, { ...within, isNamed }, start);
}

const FIRST_OF_NULL = 0x6e;
const FIRST_OF_FALSE = 0x66;
const CLOSING_BRACKET = 0x5d;

/** Whether it is null, false or an empty list. */
export function isNothing(bytes: Uint8Array, start: number): boolean {
  if (bytes[start] === FIRST_OF_NULL || bytes[start] === FIRST_OF_FALSE) return true;
  return (
    bytes[start] === OPENING_BRACKET && bytes[spaceEnd(bytes, start + 1, bytes.length)] === CLOSING_BRACKET
  );
}

interface Tools {
  readonly into: ProviderReferences;
  readonly wire: keyof typeof CLIENT_TOOLS;
  /** True for a nested list, in which hosted tools cannot be enabled. */
  readonly isGrouped: boolean;
  /** True for the list of a namespace, which cannot contain namespaces. */
  readonly isDeeper?: boolean;
}

/**
 * Tools that the client runs, and those that only search in the request's own tools, which costs only tokens. Any other type
 * may be new at the provider, and have a price.
 */
const CLIENT_TOOLS = {
  completions: /^(?:function|custom)$/,
  responses: /^(?:function|custom|local_shell|apply_patch|namespace|tool_search)$/,
  messages:
    /^(?:custom|function|(?:bash|text_editor|memory|computer)_\d{8}|tool_search_tool_(?:regex|bm25)(?:_\d{8})?)$/,
} as const;

/** Google's tools have no type, but a member of this name, which some proxies accept in every wire format. */
const GOOGLE_TOOLS = [
  ...['google_search', 'googlesearch', 'google_search_retrieval', 'googlesearchretrieval'],
  ...['enterprise_web_search', 'enterprisewebsearch', 'google_maps', 'googlemaps'],
  ...['url_context', 'urlcontext', 'code_execution', 'codeexecution', 'computer_use', 'computeruse'],
  ...['file_search', 'filesearch', 'retrieval'],
];

export function readOwnTools(
  text: JsonText,
  into: ProviderReferences,
  wire: Tools['wire'],
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const end = readTools(text, { into, wire, isGrouped: false }, start);
  into.toolsSeen += isName(text.bytes, nameStart, nameEnd, 'tools') ? 1 : 2;
  into.tools = { start, end };
  return end;
}

export function readTools(text: JsonText, tools: Tools, start: number): number {
  return text.bytes[start] === OPENING_BRACKET
    ? readElements(text, start, tools, readTool)
    : valueEnd(text, start);
}

interface Tool extends Tools {
  readonly index: number;
  /** The first type that is not a client tool; null if there is none. */
  hostedType: string | null;
  /** The number of types; one whose name is not spelled exactly counts as two. */
  types: number;
  maxUses: Span | null;
  maxUsesSeen: number;
  /** Like `types`. */
  environments: number;
  /** The number of members of its environment other than skills; any but the type "local" counts as two. */
  environmentTypes: number;
}

const SHELL = 'shell';

function readTool(text: JsonText, tools: Tools, start: number, index: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  const counts = { types: 0, maxUsesSeen: 0, environments: 0, environmentTypes: 0 };
  const tool: Tool = { ...tools, ...counts, index, hostedType: null, maxUses: null };
  const end = readMembers(text, start, tool, readToolField);
  if (end < 0 || tool.hostedType === null) return end;
  const { into, hostedType: type, maxUses } = tool;
  const param = `tools[${index}].type`;
  // The settings of an MCP server are the client's own.
  const isMcp = type === 'mcp' || type === 'mcp_toolset';
  if (!isLocalShell(tool)) {
    // Those that two parsers could read differently are refused regardless of what is enabled.
    if (tool.types > 1 || tool.maxUsesSeen > 1) {
      into.problem ??= { message: toolMessage(type), param };
      return end;
    }
    const { isGrouped } = tools;
    const modelMember = isMcp ? null : memberNamingModel(text.bytes, start);
    addTool(into, { type, param, span: isGrouped ? null : { start, end }, maxUses, isGrouped, modelMember });
  }
  if (isMcp) return end;
  return readIds(
    jsonText(text.bytes),
    { into, param: `tools[${index}]`, depth: 0, names: TOOL_IDS, isNamed: false },
    start,
  );
}

/** Such as `model` of a tool, `allowed_models` of a plugin, and names of configurations. */
const MODEL_MEMBERS = /models?$|^(?:presets?|fallbacks?|route)$/iu;

interface ModelSearch {
  readonly depth: number;
  /** Shared by all depths. */
  readonly found: { name: string | null };
}

/** The first member in a scanned value that names a model or a configuration; null if there is none. */
export function memberNamingModel(bytes: Uint8Array, start: number): string | null {
  const found = { name: null };
  searchModel(jsonText(bytes), { depth: 0, found }, start);
  return found.name;
}

/** What is nested deeper than any definition counts as such a member. */
function searchModel(text: JsonText, { depth, found }: ModelSearch, start: number): number {
  const first = text.bytes[start];
  if (first !== OPENING_BRACE && first !== OPENING_BRACKET) return valueEnd(text, start);
  if (depth > DEEPEST_CONTENT) {
    found.name ??= '';
    return valueEnd(text, start);
  }
  const deeper = { depth: depth + 1, found };
  return first === OPENING_BRACKET
    ? readElements(text, start, deeper, searchModel)
    : readMembers(text, start, deeper, searchModelMember);
}

function searchModelMember(
  text: JsonText,
  search: ModelSearch,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const name = shortString(text.bytes, nameStart, nameEnd);
  if (MODEL_MEMBERS.test(name) && !isNothing(text.bytes, start)) search.found.name ??= name;
  return searchModel(text, search, start);
}

/** A shell runs in the client if its environment is local, and in a container of the provider otherwise. */
function isLocalShell({ wire, hostedType, types, environments, environmentTypes }: Tool): boolean {
  const isShell = wire === 'responses' && hostedType === SHELL && types === 1;
  return isShell && environments === 1 && environmentTypes === 1;
}

function readToolField(
  text: JsonText,
  tool: Tool,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  // A namespace contains tools, but no other namespace.
  if (tool.isDeeper !== true && isFoldedName(bytes, nameStart, nameEnd, 'tools')) {
    const { into, wire } = tool;
    return readTools(text, { into, wire, isGrouped: true, isDeeper: true }, start);
  }
  if (isFoldedName(bytes, nameStart, nameEnd, 'environment')) {
    tool.environments += isName(bytes, nameStart, nameEnd, 'environment') ? 1 : 2;
    if (bytes[start] === OPENING_BRACE) return readMembers(text, start, tool, readEnvironmentField);
  }
  const end = valueEnd(text, start);
  if (end < 0) return end;
  if (GOOGLE_TOOLS.some((name) => isFoldedName(bytes, nameStart, nameEnd, name))) {
    tool.hostedType ??= shortString(bytes, nameStart, nameEnd);
  }
  if (isFoldedName(bytes, nameStart, nameEnd, 'max_uses')) {
    tool.maxUses = { start, end };
    tool.maxUsesSeen += isName(bytes, nameStart, nameEnd, 'max_uses') ? 1 : 2;
  }
  if (bytes[start] !== QUOTE || !isFoldedName(bytes, nameStart, nameEnd, 'type')) return end;
  const type = shortString(bytes, start, end);
  tool.types += isName(bytes, nameStart, nameEnd, 'type') ? 1 : 2;
  if (!CLIENT_TOOLS[tool.wire].test(type) || (tool.isDeeper === true && type === 'namespace')) {
    tool.hostedType ??= type;
  }
  return end;
}

/** A local environment has only a type and skills. */
function readEnvironmentField(
  text: JsonText,
  tool: Tool,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  const end = valueEnd(text, start);
  if (end < 0 || isName(bytes, nameStart, nameEnd, 'skills')) return end;
  const isLocal =
    isName(bytes, nameStart, nameEnd, 'type') &&
    bytes[start] === QUOTE &&
    shortString(bytes, start, end) === 'local';
  tool.environmentTypes += isLocal ? 1 : 2;
  return end;
}

/** Repeats the type only if it looks like one: anything else is the client's text. */
export function toolMessage(type: string): string {
  const named = /^[\w.-]{1,64}$/.test(type) ? ` '${type}'` : '';
  const local = type === SHELL ? ` To run it in your client, set its environment to {"type": "local"}.` : '';
  return `The tool${named} runs at the provider and is not enabled. Use tools that your client runs, such as functions.${local}`;
}

export function refuseDepth(into: ProviderReferences, param: string): void {
  into.problem ??= {
    message: `Content of '${param}' is nested deeper than ${DEEPEST_CONTENT} levels.`,
    param,
  };
}

const LONGEST_ID = 200;

/** Longer strings cannot be ids of any provider, and become empty, which matches nothing. */
export function shortString(bytes: Uint8Array, start: number, end: number): string {
  return end - start > LONGEST_ID ? '' : stringIn(bytes, start, end);
}
