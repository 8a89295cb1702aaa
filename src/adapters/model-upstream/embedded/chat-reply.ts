import type { ChatMessage, ChatRequest, ChatTool } from './chat-request.ts';
import { type Conversation, type FoundValues, findValues } from './found-values.ts';
import { beforeStop } from './open-call.ts';
import { schemaValue } from './schema-value.ts';
import { itemsOf, meaningfulStems, stemOf, wordsOfName } from './text-parts.ts';
import type { FittedText, Tokens } from './tokens.ts';
import { writeAnswer } from './written-answer.ts';

/** The reply, which is the same for every choice because the model is deterministic. */
export type ChatReply =
  | { readonly kind: 'words'; readonly content: FittedText; readonly finish: 'stop' | 'length' }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly arguments: FittedText;
      readonly finish: 'tool_calls' | 'length';
    };

/** The longest answer if the client sets no limit; the output limit of OpenAI's smaller models. */
export const LONGEST_ANSWER = 16_384;

export function replyTo(request: ChatRequest, tokens: Tokens): ChatReply {
  const limit = Math.min(request.maxTokens ?? LONGEST_ANSWER, LONGEST_ANSWER);
  const tool = pickTool(request);
  if (tool !== null) {
    const values = schemaValue(tool.parameters ?? {}, findValues(conversationOf(request.messages)));
    const json = JSON.stringify(typeof values === 'object' && values !== null ? values : {});
    const fitted = tokens.fit(json, Math.max(0, limit - tokens.countNow(tool.name)));
    return {
      kind: 'call',
      name: tool.name,
      arguments: fitted,
      finish: fitted.isCut ? 'length' : 'tool_calls',
    };
  }
  const content = tokens.fit(beforeStop(textOf(request), request.stop), limit);
  return { kind: 'words', content, finish: content.isCut ? 'length' : 'stop' };
}

function textOf({ format, messages }: ChatRequest): string {
  if (format.kind === 'json-schema') return answerBySchema(messages, format.schema);
  return format.kind === 'json-object' ? answerAsObject(messages) : writeAnswer(messages);
}

/** A call is charged by the tokens of its name and its arguments. */
export function replyTokens(reply: ChatReply, tokens: Tokens): number {
  if (reply.kind === 'words') return reply.content.tokenCount;
  return tokens.countNow(reply.name) + reply.arguments.tokenCount;
}

/**
 * OpenAI's rule for chats: 3 tokens around each message in addition to its role and content, one more and its own for a
 * name, and 3 that start the answer. The tool calls in a message count as content, by name and arguments. Tool
 * definitions are not messages and are not counted.
 */
export async function promptTokens(
  messages: readonly ChatMessage[],
  tokens: Tokens,
  signal: AbortSignal,
): Promise<number> {
  let sum = 3;
  for (const { role, text, name, toolCalls } of messages) {
    sum += 3 + tokens.countNow(role) + (await tokens.count(text, signal));
    if (name !== null) sum += 1 + (await tokens.count(name, signal));
    for (const call of toolCalls) sum += await tokens.count(`${call.name}${call.arguments}`, signal);
  }
  return sum;
}

const MAX_KEYS = 50;
/** How much of a message is searched for keys, which are named at its beginning or end. */
const LOOKED_AT_FOR_KEYS = 20_000;
const QUOTED_KEY = /["'`]([\p{L}_][\p{L}\p{N}_-]{0,40})["'`]\s*:/gu;
const NAMED_KEYS =
  /\b(?:keys?|fields?|properties|attributes)\b(?: (?:named|called|are|for))?[\s:]*([^\n:{]{1,300})/iu;

/** The parts of the conversation that values are taken from. System messages are instructions and are excluded. */
function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const inputs = messages.filter(({ role }) => role === 'user' || role === 'tool' || role === 'function');
  return {
    text: inputs.map(({ text }) => text).join('\n'),
    lastMessage: inputs.findLast(({ role }) => role === 'user')?.text.trim() ?? '',
  };
}

/** An empty object if the schema yields null; OpenAI's schemas always describe an object. */
function answerBySchema(messages: readonly ChatMessage[], schema: unknown): string {
  return JSON.stringify(schemaValue(schema, findValues(conversationOf(messages))) ?? {});
}

/**
 * An object with the keys that the messages show (`{"name": …}`) or name ("with the keys name and age"), and the values
 * that the text gives for them; null for a key without one. Without keys, the answer in prose under `answer`.
 */
export function answerAsObject(messages: readonly ChatMessage[]): string {
  const found = findValues(conversationOf(messages));
  const keys = keysIn(
    messages
      .map(({ text }) => text.slice(0, LOOKED_AT_FOR_KEYS))
      .join('\n')
      .slice(-2 * LOOKED_AT_FOR_KEYS),
  );
  if (keys.length === 0) return JSON.stringify({ answer: writeAnswer(messages) });
  return JSON.stringify(Object.fromEntries(keys.map((key) => [key, valueUnder(key, found)])));
}

function keysIn(text: string): string[] {
  const shown = [...text.matchAll(QUOTED_KEY)].map(([, key]) => key ?? '');
  const named = shown.length > 0 ? [] : itemsOf(NAMED_KEYS.exec(text)?.[1]?.split(/[.!?](?:\s|$)/u)[0] ?? '');
  const keys = [...shown, ...named].map((key) =>
    key.replace(/ (?:for|from|of|in|about)\b.*$/u, '').replace(/^["'`]+|["'`]+$/gu, ''),
  );
  return [...new Set(keys)].filter((key) => /^[\p{L}_][\p{L}\p{N}_-]{0,40}$/u.test(key)).slice(0, MAX_KEYS);
}

/** Keeps the type of numbers and booleans: `42` is not `"42"`. */
function valueUnder(key: string, found: FoundValues): unknown {
  const text = found.text(key);
  if (text === null) return found.list(key) ?? found.number(key);
  if (/^-?\d{1,15}(?:\.\d{1,10})?$/u.test(text)) return Number(text);
  return /^(?:true|false)$/u.test(text) ? text === 'true' : text;
}

/** How much of a message is compared with the tools, which limits the work. */
const LOOKED_AT_FOR_TOOLS = 4_000;
/** Words that are in the names of most tools and do not identify one. */
const COMMON_IN_NAMES = new Set([
  'get',
  'set',
  'fetch',
  'do',
  'run',
  'call',
  'the',
  'of',
  'for',
  'by',
  'tool',
  'function',
]);

/** The function to call, or null for an answer in words. */
function pickTool({ messages, tools, toolChoice }: ChatRequest): ChatTool | null {
  if (toolChoice.kind === 'none') return null;
  if (toolChoice.kind === 'named') return tools.find(({ name }) => name === toolChoice.name) ?? null;
  // A tool result that has arrived is reported, not requested again.
  if (toolChoice.kind === 'auto' && messages.at(-1)?.role !== 'user') return null;

  const question = messages.findLast(({ role }) => role === 'user')?.text.slice(0, LOOKED_AT_FOR_TOOLS) ?? '';
  const stems = new Set([...meaningfulStems(question), ...wordsOfName(question).map(stemOf)]);
  let best: { tool: ChatTool; score: number } | null = null;
  for (const tool of tools) {
    const score = scoreOf(tool, question, stems);
    if (score > (best?.score ?? 0)) best = { tool, score };
  }
  return best?.tool ?? (toolChoice.kind === 'required' ? (tools[0] ?? null) : null);
}

/**
 * 0 is no match. A message matches if it contains the function's name, all meaningful words of the name, or one of them
 * and another word of its description. More matching words score higher.
 */
function scoreOf({ name, description }: ChatTool, question: string, stems: ReadonlySet<string>): number {
  if (question.includes(name)) return 1_000;
  const ofName = wordsOfName(name)
    .filter((word) => !COMMON_IN_NAMES.has(word))
    .map(stemOf);
  const inName = ofName.filter((stem) => stems.has(stem)).length;
  if (inName === 0) return 0;
  const ofDescription = new Set(meaningfulStems(description.slice(0, LOOKED_AT_FOR_TOOLS)));
  const inDescription = [...ofDescription].filter((stem) => stems.has(stem) && !ofName.includes(stem)).length;
  if (inName === ofName.length) return 100 + inName + inDescription;
  return inDescription > 0 ? inName + inDescription : 0;
}
