import type { HostedPlan, PlannedTool } from '../../domain/model-calls/paid-call.ts';
import type { Alias, AliasTools } from '../../domain/models/aliases.ts';
import { HOSTED_TOOLS, type HostedTool, MOST_TOOL_USES, mayName } from '../../domain/models/hosted-tools.ts';
import { speaks } from '../../domain/models/providers.ts';
import {
  distinctFields,
  PLUGINS,
  type UnpricedField,
  type UnpricedFieldsMode,
  unpricedTool,
} from '../../domain/models/tiers/unpriced-fields.ts';
import { joinBytes } from '../../http/bytes.ts';
import type { ModelEndpoint } from '../../ports/model-upstream.ts';
import type { ClientWire } from '../json/client-wire.ts';
import {
  type HostedBody,
  type HostedToolUse,
  MCP_SERVERS,
  type Span,
  toolMessage,
} from '../json/hosted-parts.ts';
import { jsonText } from '../json/json-text.ts';
import { otherModelMessage } from '../json/provider-references.ts';
import { type ModelBodyFields, readModelBody } from '../json/request-body.ts';
import { readElements, valueEnd } from '../json/scan-json.ts';
import { isFree } from './call-size.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';

/** How tools that the alias has no price for are handled. */
export interface ToolModes {
  /** Optional ones: see `UNAVAILABLE_TOOLS`. */
  readonly unavailable?: 'refuse' | 'drop' | undefined;
  /** The others: see `UNPRICED_FIELDS`. */
  readonly unpriced?: UnpricedFieldsMode | undefined;
}

interface HostedCall {
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields & { readonly hosted: HostedBody };
}

interface RequestedCall extends HostedCall {
  readonly route: { readonly endpoint: ModelEndpoint; readonly wire: ClientWire };
  readonly isCodex?: boolean;
}

interface AnyCall {
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields | ParseFields;
}

export function isHosted(call: AnyCall): call is HostedCall {
  return 'hosted' in call.fields && call.fields.hosted !== null;
}

/** Null for a call without hosted tools, as nearly every call is. */
export function planTools(
  route: Route,
  call: AnyCall,
  { headers }: Pick<Request, 'headers'>,
  modes?: ToolModes,
): Planned | null {
  if (route.kind !== 'model-call' || !isHosted(call)) return null;
  const isCodex = CODEX.test(headers.get('originator') ?? '');
  return planHosted({ ...call, route, isCodex }, modes);
}

/** The `originator` of Codex: codex_cli_rs, codex_exec, codex_vscode, Codex Desktop. */
const CODEX = /^codex/i;

type Planned =
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | {
      readonly outcome: 'planned';
      /** Reduced to the targets that can serve the call. */
      readonly alias: Alias;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly fields: ModelBodyFields;
      /** Null if it costs nothing besides its tokens. */
      readonly plan: HostedPlan | null;
      /** Types of tools that were removed from the body. */
      readonly dropped: readonly string[];
      /** What is forwarded although the alias has no price for it. */
      readonly unpriced: readonly UnpricedField[];
    };

/**
 * Plans a call with hosted tools, or with ids of objects stored at the provider. Both require a target that supports the
 * client's wire format itself. Ids must be enabled on the alias, and so must tools unless unpriced fields are forwarded. The
 * spending on tools that have a price is limited by the body's own limit, or by the alias's, which is written into the body.
 * Not called for other calls.
 */
export function planHosted(call: RequestedCall, modes: ToolModes = {}): Planned {
  const { alias, route, fields } = call;
  const { hosted } = fields;
  const { wire, endpoint } = route;
  const tools = alias.tools ?? null;
  const used = new Map<HostedToolUse, HostedTool>();
  const dropped: HostedToolUse[] = [];
  const forwarded: HostedToolUse[] = [];
  const forwards = modes.unpriced === 'forward';
  for (const use of hosted.tools) {
    const tool = toolOf(wire, use.type);
    const isPriced = tool !== null && tools?.prices.has(tool.name) === true;
    if (isPriced && use.isGrouped !== true) used.set(use, tool);
    else if (!isPriced && isOptional(call, use, tool, modes)) dropped.push(use);
    else if (!isPriced && forwards) forwarded.push(use);
    else return refused(toolMessage(use.type), use.param);
  }
  const other = forwarded.find(({ modelMember }) => modelMember != null);
  if (other !== undefined) return refused(otherModelMessage(other.param, other.modelMember), other.param);
  const unknown = hosted.ids.find(({ id }) => tools === null || !mayName(tools, id));
  if (unknown !== undefined) return refused(idMessage(unknown.param), unknown.param);
  if (dropped.length > 0 && !hasOthers(call.bytes, hosted, dropped.length)) {
    const [first] = dropped as [HostedToolUse];
    return refused(toolMessage(first.type), first.param);
  }
  if (used.size > 0 && hosted.tools.some(({ span }) => span !== null) && hosted.toolList === null) {
    return refused("Write 'tools' in lower case, once.", 'tools');
  }
  const isPaid = used.size > 0 || hosted.ids.length > 0;
  const needsProvider = isPaid || forwarded.length > 0;
  const targets = needsProvider ? alias.targets.filter((target) => speaks(target, endpoint)) : alias.targets;
  if (targets.length === 0 && alias.targets.length > 0) return refused(...translatedMessage(call));
  const planned = tools === null || !isPaid ? NOTHING : boundsOf(call, tools, used);
  if (planned.outcome === 'refused') return planned;
  const bytes = rewritten(call, dropped, isFree(route) ? [] : planned.splices);
  const read = bytes === call.bytes ? null : readModelBody(bytes, wire);
  if (read?.outcome === 'invalid') return refused(read.message, read.param);
  return {
    outcome: 'planned',
    alias: targets.length === alias.targets.length ? alias : { ...alias, targets },
    bytes,
    fields: { ...(read?.fields ?? fields), refersOutside: fields.refersOutside || used.size > 0 },
    plan: planned.plan,
    dropped: [...new Set(dropped.map(({ type }) => type))],
    unpriced: isFree(route) ? [] : distinctFields(forwarded.map(unpricedField)),
  };
}

function unpricedField({ type, param, span, isGrouped }: HostedToolUse): UnpricedField {
  if (span !== null || isGrouped === true || param === MCP_SERVERS) return unpricedTool(type);
  return { name: param, kind: param === PLUGINS ? 'plugins' : 'search' };
}

/** For a response whose request is no longer known: every tool of the alias, with the most uses that a call may have. */
export function planOfAlias({ prices }: AliasTools): HostedPlan {
  const tools = [...prices].map(([name, priceMicro]) => ({ name, priceMicro, mostUses: MOST_TOOL_USES }));
  return { tools, mostMicro: Number.MAX_SAFE_INTEGER };
}

function refused(message: string, param: string | null): Extract<Planned, { outcome: 'refused' }> {
  return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
}

function toolOf(wire: ClientWire, type: string): HostedTool | null {
  // The only hosted tool in chat completions; a member of the body enables it.
  if (wire === 'completions')
    return HOSTED_TOOLS.find(({ name }) => name === type && name === 'web_search') ?? null;
  return HOSTED_TOOLS.find((tool) => tool[wire]?.types.test(type) === true) ?? null;
}

/** Tools that agents list in case their provider has them. */
const OPTIONAL: ReadonlySet<string> = new Set(['web_search', 'web_fetch', 'image_generation']);

/**
 * Whether the tool can be dropped, because no tool choice of the client names it. Codex lists a search that is limited to the
 * provider's index in every request, so that one is dropped regardless of the setting (decisions/0049).
 */
function isOptional(
  { alias, bytes, fields: { hosted }, route, isCodex }: RequestedCall,
  { span }: HostedToolUse,
  tool: HostedTool | null,
  { unavailable, unpriced }: ToolModes,
): boolean {
  if (tool === null || span === null || hosted.toolList === null || !OPTIONAL.has(tool.name)) return false;
  if (hosted.toolChoices.some((choice) => textIn(bytes, choice).includes(tool.name))) return false;
  if (unavailable === 'drop') return true;
  if (route.wire !== 'responses' || tool.name !== 'web_search') return false;
  // A provider that speaks the API has it: there it works as it would without the gateway.
  if (unpriced === 'forward' && alias.targets.some((target) => speaks(target, route.endpoint))) return false;
  return isCodex === true || JSON.parse(textIn(bytes, span)).external_web_access === false;
}

function hasOthers(bytes: Uint8Array, { toolList }: HostedBody, dropped: number): boolean {
  return toolList !== null && elementsOf(bytes, toolList).length > dropped;
}

function elementsOf(bytes: Uint8Array, list: Span): readonly Span[] {
  const spans: Span[] = [];
  readElements(jsonText(bytes), list.start, spans, (text, into, start) => {
    const end = valueEnd(text, start);
    into.push({ start, end });
    return end;
  });
  return spans;
}

/** A replacement for a span of the body; an empty span is an insertion. */
interface Splice {
  readonly span: Span;
  readonly text: string;
}

type Bounded =
  | { readonly outcome: 'bounded'; readonly plan: HostedPlan | null; readonly splices: readonly Splice[] }
  | Extract<Planned, { outcome: 'refused' }>;

const NOTHING: Bounded = { outcome: 'bounded', plan: null, splices: [] };

/** The limit of uses for each tool, as sent to the provider. */
function boundsOf(
  call: RequestedCall,
  tools: AliasTools,
  used: ReadonlyMap<HostedToolUse, HostedTool>,
): Bounded {
  const { fields, bytes, route } = call;
  const priceOf = ({ name }: HostedTool) => tools.prices.get(name) ?? 0;
  switch (route.wire) {
    case 'completions': {
      // This wire format has no limit to send to the provider: uses beyond ours are not charged.
      const planned = [...new Set(used.values())].map((tool) => planOf(tool, priceOf(tool), tools.maxUses));
      return bounded(planned, tools.maxUses, []);
    }
    case 'responses': {
      const { maxToolCalls, ids } = fields.hosted;
      const most = boundIn(bytes, maxToolCalls, tools.maxUses);
      if (most === null) return refused(`'max_tool_calls' ${BOUND_MESSAGE}`, 'max_tool_calls');
      const splices = most.isGiven
        ? []
        : [spliceOf(maxToolCalls, 'max_tool_calls', most.uses, fields.closingBrace)];
      // A stored prompt may have its own tools.
      const isPrompt = ids.some(({ param }) => param === 'prompt');
      const own = isPrompt
        ? HOSTED_TOOLS.filter(({ name }) => tools.prices.has(name))
        : [...new Set(used.values())];
      if (own.length === 0) return NOTHING;
      return bounded(
        own.map((tool) => planOf(tool, priceOf(tool), most.uses)),
        most.uses,
        splices,
      );
    }
    case 'messages':
      return boundsOfMessages(call, tools, used);
  }
}

/** Each tool has its own limit, if the wire format supports one for it. */
function boundsOfMessages(
  { bytes }: RequestedCall,
  tools: AliasTools,
  used: ReadonlyMap<HostedToolUse, HostedTool>,
): Bounded {
  const planned = new Map<string, PlannedTool>();
  const splices: Splice[] = [];
  for (const [{ span, maxUses, param }, tool] of used) {
    const most = boundIn(bytes, maxUses, tools.maxUses);
    if (most === null) return refused(`'max_uses' ${BOUND_MESSAGE}`, param);
    if (!most.isGiven && span !== null && tool.messages?.isBounded === true) {
      splices.push(spliceOf(maxUses, 'max_uses', most.uses, span.end - 1));
    }
    const price = tools.prices.get(tool.name) ?? 0;
    // Two tools of the same type have one limit each.
    const others = planned.get(tool.name)?.mostUses ?? 0;
    const mostUses = tool.messages?.isBounded === true ? most.uses + others : most.uses;
    planned.set(tool.name, planOf(tool, price, mostUses));
  }
  if (planned.size === 0) return NOTHING;
  const all = [...planned.values()];
  const mostMicro = all.reduce((sum, { priceMicro, mostUses }) => sum + priceMicro * mostUses, 0);
  return { outcome: 'bounded', plan: { tools: all, mostMicro }, splices };
}

function planOf({ name }: HostedTool, priceMicro: number, mostUses: number): PlannedTool {
  return { name, priceMicro, mostUses };
}

/** One limit for all tools together: every use may be of the most expensive one. */
function bounded(tools: readonly PlannedTool[], uses: number, splices: readonly Splice[]): Bounded {
  const dearest = Math.max(0, ...tools.map(({ priceMicro }) => priceMicro));
  return { outcome: 'bounded', plan: { tools, mostMicro: dearest * uses }, splices };
}

const BOUND_MESSAGE = `must be a whole number from 1 to ${MOST_TOOL_USES} for hosted tools.`;

/** Null if it is invalid. If it is omitted or null, the limit of the alias applies. */
function boundIn(
  bytes: Uint8Array,
  span: Span | null,
  usual: number,
): { readonly uses: number; readonly isGiven: boolean } | null {
  const text = span === null ? 'null' : textIn(bytes, span);
  if (text === 'null') return { uses: usual, isGiven: false };
  const uses = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return uses >= 1 && uses <= MOST_TOOL_USES ? { uses, isGiven: true } : null;
}

/** Replaces a null, or inserts before the closing brace of the object, which is not empty. */
function spliceOf(given: Span | null, name: string, uses: number, brace: number): Splice {
  if (given !== null) return { span: given, text: String(uses) };
  return { span: { start: brace, end: brace }, text: `,"${name}":${uses}` };
}

function rewritten(
  { bytes, fields: { hosted } }: RequestedCall,
  dropped: readonly HostedToolUse[],
  splices: readonly Splice[],
): Uint8Array<ArrayBuffer> {
  const all = [...splices];
  if (dropped.length > 0 && hosted.toolList !== null) {
    const starts = new Set(dropped.map(({ span }) => span?.start));
    const kept = elementsOf(bytes, hosted.toolList).filter(({ start }) => !starts.has(start));
    // Removes single elements instead of replacing the list, because limits may be inserted into those that stay.
    for (const removed of removals(elementsOf(bytes, hosted.toolList), kept))
      all.push({ span: removed, text: '' });
  }
  if (all.length === 0) return bytes;
  all.sort((one, other) => one.span.start - other.span.start);
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { span, text } of all) {
    pieces.push(bytes.subarray(at, span.start), encoder.encode(text));
    at = span.end;
  }
  pieces.push(bytes.subarray(at));
  return joinBytes(
    pieces,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
}

/** The removed elements or members, each with the comma and white space up to a neighbor. At least one stays. */
export function removals(all: readonly Span[], kept: readonly Span[]): readonly Span[] {
  const first = kept[0] as Span;
  const spans: Span[] = [];
  const head = all[0] as Span;
  if (head.start < first.start) spans.push({ start: head.start, end: first.start });
  for (const [at, { end }] of kept.entries()) {
    const next = kept[at + 1];
    const between = all.filter(({ start }) => start >= end && (next === undefined || start < next.start));
    const last = between.at(-1);
    if (last !== undefined) spans.push({ start: end, end: last.end });
  }
  return spans;
}

function idMessage(param: string): string {
  switch (param) {
    case 'conversation':
      return "Conversations stored at the provider cannot be used. Send the earlier turns in 'input'.";
    case 'prompt':
      return "Prompts stored at the provider cannot be used. Send the text in 'instructions' and 'input'.";
    case 'preset':
      return "Presets stored at the provider cannot be used. Send their settings in the body, without 'preset'.";
    case 'cached_content':
      return 'Content cached at the provider cannot be used. Send the content itself.';
    case 'data_sources':
      return 'Data sources that the provider searches cannot be used. Send the content itself.';
    case 'container':
      return 'This container or skill of the provider is not enabled for this model.';
    case 'previous_response_id':
    case 'thread_id':
    case 'assistant_id':
    case 'conversation_id':
      return `What is stored at the provider ('${param}') cannot be used. Send the content itself.`;
    default:
      return param.startsWith('tools')
        ? 'A tool names a file, vector store or container of the provider that is not enabled for this model.'
        : "Files and containers stored at the provider ('file_id', 'container_id') cannot be used. Send the content itself, as data or by its address.";
  }
}

function translatedMessage({ alias, route, fields: { hosted } }: RequestedCall): [string, string | null] {
  const [tool] = hosted.tools;
  const what = tool === undefined ? 'What is stored at the provider' : `The tool '${tool.type}'`;
  const message = `${what} works only with a provider that serves /${route.endpoint} itself. Calls of ${alias.alias} are translated. Use tools that your client runs, or another model.`;
  return [message, tool?.param ?? hosted.ids[0]?.param ?? null];
}

function textIn(bytes: Uint8Array, { start, end }: Span): string {
  return new TextDecoder().decode(bytes.subarray(start, end));
}
