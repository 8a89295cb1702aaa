import { HOSTED_TOOLS, type HostedTool } from '../../domain/models/hosted-tools.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import { isName } from './json-text.ts';
import type { AnswerFields } from './scan-answer.ts';

/** Counts the uses of each hosted tool that an answer reports. Only used for calls that may use some. */
export interface ToolUseCounter {
  /** Reads an event of a stream, at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  /** Reads an answer that is not streamed. */
  noteWhole(bytes: Uint8Array): void;
  /** By the name of the tool, without unused ones. */
  uses(): Readonly<Record<string, number>>;
}

export function createToolUseCounter(
  wire: ClientWire,
  planned: readonly { readonly name: string }[],
): ToolUseCounter {
  const tools = HOSTED_TOOLS.filter(({ name }) => planned.some((one) => one.name === name));
  switch (wire) {
    case 'completions':
      return countSearches();
    case 'responses':
      return countItems(tools);
    case 'messages':
      return countBlocks(tools);
  }
}

/** More than a call can have. */
const MOST_COUNTED = 10_000;

/** Counts items of the output, each once by its id: they arrive individually and again with the whole response. */
function countItems(tools: readonly HostedTool[]): ToolUseCounter {
  const seen = new Map<string, Set<string>>();

  function noteItem(item: unknown, at: number): void {
    if (!isObject(item) || item.status === 'failed') return;
    const tool = tools.find(({ responses }) => responses?.item === item.type);
    if (tool === undefined || !isSearch(item)) return;
    const ids = seen.get(tool.name) ?? new Set();
    seen.set(tool.name, ids);
    if (ids.size < MOST_COUNTED) ids.add(typeof item.id === 'string' ? item.id : `at ${at}`);
  }

  function noteResponse(response: unknown): void {
    if (!isObject(response) || !Array.isArray(response.output)) return;
    for (const [at, item] of response.output.entries()) noteItem(item, at);
  }

  return {
    note(bytes, start, end, { typeStart, typeEnd }) {
      if (typeEnd === 0) return;
      const isItem = isName(bytes, typeStart, typeEnd, 'response.output_item.done');
      const isLast = LAST_EVENTS.some((name) => isName(bytes, typeStart, typeEnd, name));
      if (!isItem && !isLast) return;
      const event = parsed(bytes.subarray(start, end));
      if (isItem) noteItem(event?.item, Number(event?.output_index));
      else noteResponse(event?.response);
    },
    noteWhole: (bytes) => noteResponse(parsed(bytes)),
    uses: () => Object.fromEntries([...seen].map(([name, ids]) => [name, ids.size])),
  };
}

export const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'];

/** OpenAI charges for searches, not for the pages that the model then opens. */
function isSearch({ type, action }: JsonObject): boolean {
  if (type !== 'web_search_call' || !isObject(action)) return true;
  return action.type === undefined || action.type === 'search';
}

/**
 * Counts the uses in `usage.server_tool_use`, which excludes failed searches. For tools that it does not list, counts the
 * blocks of the answer.
 */
function countBlocks(tools: readonly HostedTool[]): ToolUseCounter {
  const blocks = new Map<string, number>();
  let reported: JsonObject = {};

  function noteBlock(block: unknown): void {
    if (!isObject(block)) return;
    const name = block.type === 'server_tool_use' ? block.name : block.type;
    const tool = tools.find(({ messages }) => messages?.blocks.includes(String(name)));
    if (tool === undefined) return;
    blocks.set(tool.name, Math.min((blocks.get(tool.name) ?? 0) + 1, MOST_COUNTED));
  }

  function noteUsage(usage: unknown): void {
    if (isObject(usage) && isObject(usage.server_tool_use))
      reported = { ...reported, ...usage.server_tool_use };
  }

  return {
    note(bytes, start, end, { typeStart, typeEnd }) {
      if (typeEnd === 0) return;
      const isBlock = isName(bytes, typeStart, typeEnd, 'content_block_start');
      if (!isBlock && !isName(bytes, typeStart, typeEnd, 'message_delta')) return;
      const event = parsed(bytes.subarray(start, end));
      if (isBlock) noteBlock(event?.content_block);
      else noteUsage(event?.usage);
    },
    noteWhole(bytes) {
      const message = parsed(bytes);
      if (Array.isArray(message?.content)) for (const block of message.content) noteBlock(block);
      noteUsage(message?.usage);
    },
    uses() {
      const counts: Record<string, number> = {};
      for (const { name, messages } of tools) {
        const count = countIn(reported[messages?.usage ?? '']) ?? blocks.get(name) ?? 0;
        if (count > 0) counts[name] = count;
      }
      return counts;
    },
  };
}

/**
 * Providers of chat completions report searches in different fields: OpenRouter as Anthropic does, Perplexity as queries, xAI
 * as sources. OpenAI reports nothing and charges one search per call.
 */
function countSearches(): ToolUseCounter {
  let reported: number | null = null;
  function noteUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    reported = searchesIn(usage) ?? reported;
  }
  return {
    note(bytes, _start, _end, { usageStart, usageEnd }) {
      if (usageEnd > 0) noteUsage(parsed(bytes.subarray(usageStart, usageEnd)));
    },
    noteWhole: (bytes) => noteUsage(parsed(bytes)?.usage),
    uses: () => ((reported ?? 1) > 0 ? { web_search: reported ?? 1 } : {}),
  };
}

/** The searches that the usage of an answer reports; null if it reports none. */
export function searchesIn(usage: JsonObject): number | null {
  const ofTools = isObject(usage.server_tool_use) ? usage.server_tool_use.web_search_requests : null;
  return countIn(ofTools) ?? countIn(usage.num_search_queries) ?? countIn(usage.num_sources_used);
}

function countIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

export function parsed(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
