import { type CallTokens, reportedTokens } from '../calls/settlement/finished-call.ts';
import type { Alias } from '../models/aliases.ts';
import { type Served, servedOf } from './paid-call.ts';
import type { CallKind, ModelRequest, TryTargetsParts } from './try-target.ts';
import { type Tried, tryTargets } from './try-targets.ts';

/** What a whole answer needs besides. */
export interface AskModelParts extends TryTargetsParts {
  /** From a target's status to its answer's last byte. */
  readonly answerTimeoutMs: number;
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** What is asked of a model, but for its name. */
export interface ModelQuestion {
  readonly messages: readonly ModelMessage[];
  readonly responseFormat: Readonly<Record<string, unknown>>;
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

/** An answer to a question in JSON is a tenth of the largest document. */
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Asks the alias's providers, then those of the fallbacks, never the embedded models, for one whole chat completion. */
export async function askModel(
  parts: AskModelParts,
  alias: Alias,
  { messages, responseFormat }: ModelQuestion,
  signal: AbortSignal,
  fallbacks: readonly Alias[] = [],
): Promise<AskedModel> {
  const kind: CallKind<ModelRequest, ChatAnswer> = {
    order: 'weighted',
    uses: 'providers',
    bodyFor(_request, { model }) {
      const body = { model, messages, temperature: 0, response_format: responseFormat };
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
  if (tried.outcome !== 'answered') return { outcome: 'failed', ...failureIn(tried) };
  const served = servedOf(alias, tried.alias, tried.tries);
  return { outcome: 'answered', ...tried.answer, targetId: tried.target.id, served };
}

/** A question to which the answer is JSON of a schema. */
export function jsonQuestion(name: string, { instruction, data, schema }: JsonQuestion): ModelQuestion {
  return {
    messages: [
      { role: 'system', content: instruction },
      { role: 'user', content: data },
    ],
    responseFormat: { type: 'json_schema', json_schema: { name, strict: true, schema } },
  };
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
  readonly tokens: CallTokens | null;
}

function chatAnswerIn(text: string): ChatAnswer | null {
  const body = objectOf(JSON.parse(text));
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const { content } = objectOf(objectOf(choice).message);
  return typeof content === 'string' ? { content, tokens: tokensIn(objectOf(body.usage)) } : null;
}

function tokensIn(usage: Readonly<Record<string, unknown>>): CallTokens | null {
  const promptTokens = reportedTokens(usage.prompt_tokens);
  const completionTokens = reportedTokens(usage.completion_tokens);
  if (promptTokens === null || completionTokens === null) return null;
  const details = objectOf(usage.prompt_tokens_details);
  const cachedTokens = Math.min(reportedTokens(details.cached_tokens) ?? 0, promptTokens);
  const written = reportedTokens(details.cache_write_tokens) ?? 0;
  const cacheWriteTokens = Math.min(written, promptTokens - cachedTokens);
  return {
    ...{ promptTokens, cachedTokens, completionTokens },
    ...(cacheWriteTokens === 0 ? {} : { cacheWriteTokens }),
  };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
