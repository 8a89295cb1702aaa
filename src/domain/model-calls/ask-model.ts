import type { Clock } from '../../ports/clock.ts';
import type { JsonObject } from '../../ports/json-object.ts';
import type { CallTokens } from '../calls/settlement/finished-call.ts';
import type { Alias } from '../models/aliases.ts';
import { type Served, servedOf } from './paid-call.ts';
import { readChatUsage } from './translation/chat-usage.ts';
import type { CallKind, ModelRequest, TryTargetsParts } from './try-target.ts';
import { type Tried, tryTargets } from './try-targets.ts';

/** What a whole answer needs besides. */
export interface AskModelParts extends TryTargetsParts {
  /** From a target's status to its answer's last byte. */
  readonly answerTimeoutMs: number;
  /** Without it every question is sent in the format first. */
  readonly formats?: FormatMemory;
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** What is asked of a model, but for its name. */
export interface ModelQuestion {
  readonly messages: readonly ModelMessage[];
  readonly responseFormat: Readonly<Record<string, unknown>>;
  /** The messages for targets that refuse the format: with the schema in words. Without it such a target's refusal is final. */
  readonly plainMessages?: readonly ModelMessage[] | undefined;
}

/** Which targets refused a format with a schema: they are called without one until the time is over. */
export interface FormatMemory {
  isPlain(targetId: string): boolean;
  notePlain(targetId: string): void;
}

const PLAIN_FOR_MS = 60 * 60 * 1000;
const MOST_REMEMBERED = 1000;

export function createFormatMemory(clock: Pick<Clock, 'now'>): FormatMemory {
  const until = new Map<string, number>();
  return {
    isPlain: (targetId) => (until.get(targetId) ?? 0) > clock.now(),
    notePlain(targetId) {
      if (until.size >= MOST_REMEMBERED) until.clear();
      until.set(targetId, clock.now() + PLAIN_FOR_MS);
    },
  };
}

export type AskedModel =
  | {
      readonly outcome: 'answered';
      readonly content: string;
      /** Null where the provider reported no usage. */
      readonly tokens: CallTokens | null;
      readonly targetId: string;
      readonly served?: Served | undefined;
    }
  /** No target gave an answer. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly targetId: string | null };

/** The reason where no target was tried. */
export const NOT_TRIED = 'breaker-open';
/** The reason where the caller ended the call. */
export const ABORTED = 'aborted';
/** The reason where the model declined to answer: the provider is well, and no other is tried. */
export const REFUSED = 'refused';

/** An answer to a question in JSON is a tenth of the largest document. */
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

/** A refusal of the format, in the words of OpenAI, Anthropic, vLLM, Mistral, Groq and llama.cpp. */
const OF_FORMAT =
  /response_format|json_schema|structured outputs?|output_(?:config|format)|guided (?:json|decoding)|grammar|schema/i;

/**
 * Asks the alias's providers, then those of the fallbacks, never the embedded models, for one whole chat completion. A
 * target that refuses the format gets the question once more without it, where the question has words for that.
 */
export async function askModel(
  parts: AskModelParts,
  alias: Alias,
  question: ModelQuestion,
  signal: AbortSignal,
  fallbacks: readonly Alias[] = [],
): Promise<AskedModel> {
  const formats = parts.formats ?? createFormatMemory(parts.clock);
  const first = await askOnce({ ...parts, formats }, alias, question, signal, fallbacks);
  const { formatRefusedBy: targetId } = first;
  if (targetId === null || question.plainMessages === undefined || formats.isPlain(targetId))
    return first.asked;
  formats.notePlain(targetId);
  return (await askOnce({ ...parts, formats }, alias, question, signal, fallbacks)).asked;
}

interface AskedOnce {
  readonly asked: AskedModel;
  /** The target whose refusal names the format. */
  readonly formatRefusedBy: string | null;
}

async function askOnce(
  parts: AskModelParts & { readonly formats: FormatMemory },
  alias: Alias,
  { messages, responseFormat, plainMessages }: ModelQuestion,
  signal: AbortSignal,
  fallbacks: readonly Alias[],
): Promise<AskedOnce> {
  const kind: CallKind<ModelRequest, ChatAnswer> = {
    order: 'weighted',
    uses: 'providers',
    bodyFor(_request, { id, model }) {
      const body =
        plainMessages !== undefined && parts.formats.isPlain(id)
          ? { model, messages: plainMessages, temperature: 0 }
          : { model, messages, temperature: 0, response_format: responseFormat };
      return new TextEncoder().encode(JSON.stringify(body));
    },
    whole: {
      maxBytes: MOST_ANSWER_BYTES,
      timeoutMs: parts.answerTimeoutMs,
      timedFrom: 'status',
      parse: chatAnswerIn,
    },
  };
  const tried = await tryTargets(parts, kind, { alias, fallbacks, endpoint: 'chat/completions' }, signal);
  if (tried.outcome !== 'answered') {
    const isOfFormat =
      tried.outcome === 'request-refused' && OF_FORMAT.test(`${tried.error?.message} ${tried.error?.param}`);
    const formatRefusedBy = isOfFormat ? tried.target.id : null;
    return { asked: { outcome: 'failed', ...failureIn(tried) }, formatRefusedBy };
  }
  const { isRefusal, ...answer } = tried.answer;
  const targetId = tried.target.id;
  const asked: AskedModel = isRefusal
    ? { outcome: 'failed', reason: REFUSED, targetId }
    : { outcome: 'answered', ...answer, targetId, served: servedOf(alias, tried.alias, tried.tries) };
  return { asked, formatRefusedBy: null };
}

/** A question to which the answer is JSON of a schema. */
export function jsonQuestion(name: string, { instruction, data, schema }: JsonQuestion): ModelQuestion {
  const messages: ModelMessage[] = [
    { role: 'system', content: instruction },
    { role: 'user', content: data },
  ];
  return {
    messages,
    responseFormat: { type: 'json_schema', json_schema: { name, strict: true, schema } },
    plainMessages: withSchemaInWords(messages, schema),
  };
}

/** The same messages for a model that takes no schema beside them: the schema is the last of the rules. */
export function withSchemaInWords(
  messages: readonly ModelMessage[],
  schema: Readonly<Record<string, unknown>>,
): ModelMessage[] {
  const rule = `Answer with one JSON object of this schema, with all of its properties, and nothing else:\n${JSON.stringify(schema)}`;
  return messages.map((message, at) =>
    at === 0 ? { ...message, content: `${message.content}\n${rule}` } : message,
  );
}

interface JsonQuestion {
  readonly instruction: string;
  readonly data: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Why no target answered, for the record of the call. */
export function failureIn(tried: Exclude<Tried<unknown>, { outcome: 'answered' }>) {
  switch (tried.outcome) {
    case 'request-refused':
      return { reason: String(tried.answer.status), targetId: tried.target.id };
    case 'failed':
      return { reason: tried.reason, targetId: tried.targetId };
    case 'not-tried':
      return { reason: NOT_TRIED, targetId: null };
    case 'aborted':
      return { reason: ABORTED, targetId: tried.targetId };
  }
}

interface ChatAnswer {
  readonly content: string;
  /** The model, or the provider's filter, declined. */
  readonly isRefusal: boolean;
  readonly tokens: CallTokens | null;
}

/** Models without a format for JSON often put it into a fence. */
const FENCED = /^\s*```(?:json)?\s*([\s\S]*?)```\s*$/;

function chatAnswerIn(answer: string): ChatAnswer | null {
  const body = objectOf(JSON.parse(answer));
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const { message, finish_reason } = objectOf(choice);
  const { content, refusal } = objectOf(message);
  const isEmpty = content === null || content === undefined || content === '';
  const isRefusal = isEmpty && (typeof refusal === 'string' || finish_reason === 'content_filter');
  if (typeof content !== 'string' && !isRefusal) return null;
  const text = typeof content === 'string' ? (FENCED.exec(content)?.[1] ?? content) : '';
  return { content: text, isRefusal, tokens: tokensIn(body) };
}

function tokensIn(answer: JsonObject): CallTokens | null {
  const usage = readChatUsage(answer);
  if (usage === null) return null;
  const { prompt, cached, cacheWrite, completion } = usage;
  return {
    ...{ promptTokens: prompt, cachedTokens: cached, completionTokens: completion },
    ...(cacheWrite === 0 ? {} : { cacheWriteTokens: cacheWrite }),
  };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
