import type { Alias } from '../../domain/models/aliases.ts';
import { HOSTED_TOOLS } from '../../domain/models/hosted-tools.ts';
import { type Tiers, unpricedTiers } from '../../domain/models/tiers/tiers.ts';
import type { UnpricedField } from '../../domain/models/tiers/unpriced-fields.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import { isName } from './json-text.ts';
import { createTierReader } from './reported-tiers.ts';
import type { AnswerFields } from './scan-answer.ts';
import { createToolUseCounter, LAST_EVENTS, parsed, searchesIn } from './tool-uses.ts';

/**
 * Reads whether an answer reports costs of fields that were forwarded without a price. What a provider does not report is not
 * known here. Only used for calls that have such fields, so events are parsed whole.
 */
interface UnpricedReader {
  /** Reads an event of a stream, at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  noteWhole(bytes: Uint8Array): void;
  /** `alias` is the one that answered. */
  report(alias: Alias): UnpricedReport;
}

interface UnpricedReport {
  /** The names of the fields with a reported cost. */
  readonly names: readonly string[];
  /** How often each of the forwarded tools was used. */
  readonly toolUses: Readonly<Record<string, number>>;
}

export function createUnpricedReader(wire: ClientWire, forwarded: readonly UnpricedField[]): UnpricedReader {
  const tools = forwarded.filter(({ kind }) => kind === 'tool');
  const counter = wire === 'completions' ? null : createToolUseCounter(wire, tools);
  const tiers = createTierReader(wire);
  let searches = 0;
  /** Uses of tools that are not among the hosted tools. */
  let hasOtherUses = false;
  let hasSources = false;
  let hasAudio = false;
  let hasCost = false;

  function noteUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    searches = Math.max(
      searches,
      searchesIn(usage) ?? 0,
      isObject(usage.plugins) ? searchesOfQwen(usage.plugins) : 0,
    );
    if (AUDIO_COUNTS.some((name) => isObject(usage[name]) && isPositive(usage[name].audio_tokens)))
      hasAudio = true;
    if (isPositive(usage.cost)) hasCost = true;
    if (isPositive(usage.num_server_side_tools_used)) hasOtherUses = true;
    if (!isObject(usage.server_tool_use)) return;
    const others = Object.entries(usage.server_tool_use).filter(([name]) => !KNOWN_USAGE.includes(name));
    if (others.some(([, count]) => isPositive(count))) hasOtherUses = true;
  }

  /** A message or delta of chat completions, an item of a response, or a block of a message. */
  function notePart(part: unknown): void {
    if (!isObject(part)) return;
    if (isOtherTool(part)) hasOtherUses = true;
    for (const one of [part, ...(Array.isArray(part.content) ? part.content : [])]) {
      if (isObject(one) && Array.isArray(one.annotations) && one.annotations.some(isSource))
        hasSources = true;
    }
  }

  /** A chunk, the event of another wire format, or an answer that is not streamed. */
  function noteAnswer(answer: JsonObject | null): void {
    for (const one of [answer, answer?.response, answer?.message]) if (isObject(one)) noteMembers(one);
  }

  function noteMembers(answer: JsonObject): void {
    noteUsage(answer.usage);
    if (Array.isArray(answer.citations) && answer.citations.length > 0) hasSources = true;
    for (const choice of listIn(answer.choices)) {
      if (isObject(choice)) for (const part of [choice.message, choice.delta]) notePart(part);
    }
    for (const part of [
      answer.item,
      answer.content_block,
      ...listIn(answer.output),
      ...listIn(answer.content),
    ]) {
      notePart(part);
    }
  }

  function isConfirmed(
    { name, kind }: UnpricedField,
    alias: Alias,
    uses: UnpricedReport['toolUses'],
  ): boolean {
    const hasSearched = searches > 0 || hasSources;
    switch (kind) {
      case 'tier': {
        const tier = tiers.tiers()[name as keyof Tiers];
        return tier !== undefined && unpricedTiers(alias, { [name]: tier }).length > 0;
      }
      case 'audio':
        return hasAudio;
      case 'search':
        return hasSearched;
      case 'plugins':
        return hasSearched || hasCost;
      case 'tool':
        if (counter === null) return hasSearched || hasOtherUses;
        return (uses[name] ?? 0) > 0 || (hasOtherUses && !KNOWN_TOOLS.includes(name));
    }
  }

  return {
    note(bytes, start, end, fields) {
      tiers.note(bytes, start, end, fields);
      counter?.note(bytes, start, end, fields);
      if (mayReport(wire, bytes, start, end, fields)) noteAnswer(parsed(bytes.subarray(start, end)));
    },
    noteWhole(bytes) {
      tiers.noteWhole(bytes);
      counter?.noteWhole(bytes);
      noteAnswer(parsed(bytes));
    },
    report(alias) {
      const found = Math.max(searches, hasSources ? 1 : 0);
      const toolUses = counter?.uses() ?? (found > 0 ? { web_search: found } : {});
      const confirmed = forwarded.filter((field) => isConfirmed(field, alias, toolUses));
      return { names: confirmed.map(({ name }) => name), toolUses };
    },
  };
}

const KNOWN_TOOLS: readonly string[] = HOSTED_TOOLS.map(({ name }) => name);
const KNOWN_USAGE: readonly string[] = HOSTED_TOOLS.flatMap(({ messages }) => messages?.usage ?? []);
const AUDIO_COUNTS = [
  ...['prompt_tokens_details', 'completion_tokens_details', 'input_tokens_details', 'output_tokens_details'],
];
const SOURCES = ['annotations', 'citations'].map((name) => new TextEncoder().encode(`"${name}"`));
const PART_EVENTS = [...LAST_EVENTS, 'response.output_item.done', 'content_block_start'];

/** Whether an event has usage, an item or block, or sources. */
function mayReport(
  wire: ClientWire,
  bytes: Uint8Array,
  start: number,
  end: number,
  fields: AnswerFields,
): boolean {
  if (fields.usageEnd > 0 || fields.innerUsageEnd > 0) return true;
  if (wire === 'completions') {
    const event = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
    return SOURCES.some((name) => event.includes(name));
  }
  const { typeStart, typeEnd } = fields;
  return typeEnd > 0 && PART_EVENTS.some((name) => isName(bytes, typeStart, typeEnd, name));
}

/** Items of a response that the client runs, or that cost only tokens. */
const OWN_ITEMS =
  /^(?:function|custom_tool|local_shell|apply_patch|tool_search)_call$|^(?:mcp_list_tools|mcp_approval_request)$/;
const HOSTED_ITEMS: readonly string[] = HOSTED_TOOLS.flatMap(({ responses }) => responses?.item ?? []);
const HOSTED_BLOCKS: readonly string[] = HOSTED_TOOLS.flatMap(({ messages }) => messages?.blocks ?? []);

/** Whether it is a use of a tool that ran at the provider and is not among the hosted tools. */
function isOtherTool({ type, name, status }: JsonObject): boolean {
  if (typeof type !== 'string' || status === 'failed') return false;
  if (type === 'server_tool_use') {
    const tool = String(name);
    return !HOSTED_BLOCKS.includes(tool) && !tool.startsWith('tool_search_tool_');
  }
  return type.endsWith('_call') && !OWN_ITEMS.test(type) && !HOSTED_ITEMS.includes(type);
}

function isSource(annotation: unknown): boolean {
  return isObject(annotation) && annotation.type === 'url_citation';
}

function searchesOfQwen({ search }: JsonObject): number {
  return isObject(search) && isPositive(search.count) ? search.count : 0;
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0;
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
