import type { Clock } from '../../ports/clock.ts';
import type { JsonObject } from '../../ports/json-object.ts';
import type { TargetWire, UpstreamTarget } from '../../ports/model-upstream.ts';
import type { CallTokens } from '../calls/settlement/finished-call.ts';
import type { Alias } from '../models/aliases.ts';
import { type Served, servedOf } from './paid-call.ts';
import { readChatUsage } from './translation/chat-usage.ts';
import type { CallKind, ModelRequest, TryTargetsParts } from './try-target.ts';
import { type Tried, tryTargets } from './try-targets.ts';

/** The parts of a call whose answer is read whole. */
export interface AskModelParts extends TryTargetsParts {
  /** From a target's status to the last byte of its answer. */
  readonly answerTimeoutMs: number;
  /** If omitted, every question is first sent with the format and the temperature. */
  readonly formats?: FormatMemory;
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A question to a model, without the model's name. */
export interface ModelQuestion {
  readonly messages: readonly ModelMessage[];
  readonly responseFormat: Readonly<Record<string, unknown>>;
  /** The messages for targets that refuse the format, with the schema in words. If omitted, such a refusal is final. */
  readonly plainMessages?: readonly ModelMessage[] | undefined;
}

/** What a question can do without: the format with a schema, and the temperature, which many reasoning models refuse. */
type Dispensable = 'format' | 'temperature';

/** Targets that refused such a member. They are called without it for a limited time. */
interface FormatMemory {
  isWithout(targetId: string, member: Dispensable): boolean;
  noteWithout(targetId: string, member: Dispensable): void;
}

const WITHOUT_FOR_MS = 60 * 60 * 1000;
const MOST_REMEMBERED = 1000;

export function createFormatMemory(clock: Pick<Clock, 'now'>): FormatMemory {
  const until = new Map<string, number>();
  return {
    isWithout: (targetId, member) => (until.get(`${member} ${targetId}`) ?? 0) > clock.now(),
    noteWithout(targetId, member) {
      if (until.size >= MOST_REMEMBERED) until.clear();
      until.set(`${member} ${targetId}`, clock.now() + WITHOUT_FOR_MS);
    },
  };
}

export type ModelOutcome =
  | {
      readonly outcome: 'answered';
      readonly content: string;
      /** Null if the provider reported no usage. */
      readonly tokens: CallTokens | null;
      readonly targetId: string;
      readonly served?: Served | undefined;
    }
  /** No target answered. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly targetId: string | null };

/** The reason if no target was tried. */
export const NOT_TRIED = 'breaker-open';
/** The reason if the caller ended the call. */
export const ABORTED = 'aborted';
/** The reason if the model declined to answer: the provider is fine, and no other is tried. */
export const REFUSED = 'refused';

/** Far more than an answer in JSON has. */
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

/** A refusal of the format, in the words of OpenAI, Anthropic, vLLM, Mistral, Groq and llama.cpp. */
const OF_FORMAT =
  /response_format|json_schema|structured outputs?|output_(?:config|format)|guided (?:json|decoding)|grammar|schema/i;

const OF_TEMPERATURE = /\btemperature\b/i;

/**
 * Asks the alias's providers, then those of the fallbacks, but never the embedded models, for one whole chat
 * completion. If a target refuses the temperature, the question is asked once more without it. So it is if a target
 * refuses the format, provided that the question has `plainMessages`.
 */
export async function askModel(
  parts: AskModelParts,
  alias: Alias,
  question: ModelQuestion,
  signal: AbortSignal,
  fallbacks: readonly Alias[] = [],
): Promise<ModelOutcome> {
  const formats = parts.formats ?? createFormatMemory(parts.clock);
  let asked = await attempt({ ...parts, formats }, alias, question, signal, fallbacks);
  for (let more = 0; more < 2 && asked.refused !== null; more += 1) {
    const { targetId, member } = asked.refused;
    const isNeeded = member === 'format' && question.plainMessages === undefined;
    if (isNeeded || formats.isWithout(targetId, member)) break;
    formats.noteWithout(targetId, member);
    asked = await attempt({ ...parts, formats }, alias, question, signal, fallbacks);
  }
  return asked.result;
}

interface Attempt {
  readonly result: ModelOutcome;
  /** The target whose refusal mentions the member. */
  readonly refused: { readonly targetId: string; readonly member: Dispensable } | null;
}

async function attempt(
  parts: AskModelParts & { readonly formats: FormatMemory },
  alias: Alias,
  { messages, responseFormat, plainMessages }: ModelQuestion,
  signal: AbortSignal,
  fallbacks: readonly Alias[],
): Promise<Attempt> {
  const { formats } = parts;
  const kind: CallKind<ModelRequest, ChatAnswer> = {
    order: 'weighted',
    uses: 'providers',
    bodyFor(_request, { id, model }) {
      const asked =
        plainMessages !== undefined && formats.isWithout(id, 'format')
          ? { messages: plainMessages }
          : { messages, response_format: responseFormat };
      const body = { model, ...asked, ...(formats.isWithout(id, 'temperature') ? {} : { temperature: 0 }) };
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
    return { result: { outcome: 'failed', ...failureIn(tried) }, refused: refusedMember(tried) };
  }
  const { isRefusal, ...answer } = tried.answer;
  const targetId = tried.target.id;
  const result: ModelOutcome = isRefusal
    ? { outcome: 'failed', reason: REFUSED, targetId }
    : { outcome: 'answered', ...answer, targetId, served: servedOf(alias, tried.alias, tried.tries) };
  return { result, refused: null };
}

function refusedMember(tried: Tried<unknown>): Attempt['refused'] {
  if (tried.outcome !== 'request-refused') return null;
  const said = `${tried.error?.message} ${tried.error?.param}`;
  const targetId = tried.target.id;
  if (OF_TEMPERATURE.test(said)) return { targetId, member: 'temperature' };
  return OF_FORMAT.test(said) ? { targetId, member: 'format' } : null;
}

/** A question whose answer is JSON of a schema. */
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

/** The same messages for a model that accepts no schema: the schema is appended to the rules in the first message. */
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

/** Models without a JSON format often put it into a fence. */
const FENCED = /^\s*```(?:json)?\s*([\s\S]*?)```\s*$/;

function chatAnswerIn(answer: string, { wire }: UpstreamTarget): ChatAnswer | null {
  const body = objectOf(JSON.parse(answer));
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const { message, finish_reason } = objectOf(choice);
  const { content, refusal } = objectOf(message);
  const isEmpty = content === null || content === undefined || content === '';
  const isRefusal = isEmpty && (typeof refusal === 'string' || finish_reason === 'content_filter');
  if (typeof content !== 'string' && !isRefusal) return null;
  const text = typeof content === 'string' ? (FENCED.exec(content)?.[1] ?? content) : '';
  return { content: text, isRefusal, tokens: tokensIn(body, wire) };
}

function tokensIn(answer: JsonObject, wire: TargetWire | undefined): CallTokens | null {
  const usage = readChatUsage(answer, wire?.reasoning);
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
