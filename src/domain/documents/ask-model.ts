import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { ModelUpstream, UpstreamAnswer, UpstreamFailure } from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { judgeResult, type ServiceResult, serviceOf } from '../breakers/breaker.ts';
import type { Breakers } from '../breakers/breakers.ts';
import type { Alias, AliasTarget } from '../models/aliases.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { ModelMessage } from './document-engine.ts';

export interface AskModelParts {
  readonly models: Pick<ModelDirectory, 'order' | 'noteFailure' | 'noteSuccess'>;
  readonly upstream: ModelUpstream;
  readonly breakers: Pick<Breakers, 'enter'>;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  readonly clock: Clock;
  readonly log: Log;
  /** From a target's status to its answer's last byte. */
  readonly answerTimeoutMs: number;
}

interface AskedQuestion {
  readonly messages: readonly ModelMessage[];
  readonly responseFormat: Readonly<Record<string, unknown>>;
}

export type AskedModel =
  | {
      readonly outcome: 'answered';
      readonly content: string;
      readonly tokens: AnswerTokens | null;
      readonly targetId: string;
    }
  /** No target gave an answer. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly targetId: string | null };

/** Asks the alias's providers one after the other until one has answered whole. One that its breaker rests is left out. */
export async function askModel(
  parts: AskModelParts,
  alias: Alias,
  question: AskedQuestion,
  signal: AbortSignal,
): Promise<AskedModel> {
  let failed: AskedModel = { outcome: 'failed', reason: 'breaker-open', targetId: null };
  for (const target of parts.models.order(alias, drawFrom(parts.secrets))) {
    const service = serviceOf(target);
    if (service === null) continue;
    if (signal.aborted) return { outcome: 'failed', reason: 'aborted', targetId: target.id };
    const entry = await parts.breakers.enter(service);
    if (entry.outcome === 'rejected') continue;
    const asked = await askTarget(parts, target, question, signal);
    entry.report(judgeResult(asked.result));
    if (asked.answer.outcome === 'answered') {
      parts.models.noteSuccess(target.id);
      return asked.answer;
    }
    failed = asked.answer;
    if (asked.result.kind === 'aborted') return failed;
    parts.models.noteFailure(target.id);
    const { reason } = failed;
    parts.log.warn('a model target failed', { alias: alias.alias, targetId: target.id, reason });
  }
  return failed;
}

interface AskedTarget {
  readonly answer: AskedModel;
  /** As far as the provider is concerned. */
  readonly result: ServiceResult;
}

async function askTarget(
  { upstream, clock, answerTimeoutMs }: AskModelParts,
  target: AliasTarget,
  { messages, responseFormat }: AskedQuestion,
  signal: AbortSignal,
): Promise<AskedTarget> {
  const failed = (reason: string) => ({ outcome: 'failed', reason, targetId: target.id }) as const;
  const body = { model: target.model, messages, temperature: 0, response_format: responseFormat };
  let answer: UpstreamAnswer;
  try {
    answer = await upstream.send(target, {
      endpoint: 'chat/completions',
      body: new TextEncoder().encode(JSON.stringify(body)),
      headers: {},
      signal,
    });
  } catch (error) {
    const reason = signal.aborted ? 'aborted' : ((error as UpstreamFailure).reason ?? 'broken');
    return { answer: failed(reason), result: resultOf(reason) };
  }
  const { status } = answer;
  if (status < 200 || status >= 300) {
    answer.body.cancel().catch(() => {});
    return { answer: failed(String(status)), result: { kind: 'answered', status } };
  }
  const read = await readAnswer(answer, { clock, timeoutMs: answerTimeoutMs });
  switch (read.outcome) {
    case 'read': {
      const { content, tokens } = read;
      return {
        answer: { outcome: 'answered', content, tokens, targetId: target.id },
        result: { kind: 'answered', status },
      };
    }
    case 'late':
      return { answer: failed('late'), result: { kind: 'time-out' } };
    case 'broken':
      return { answer: failed('broken'), result: signal.aborted ? { kind: 'aborted' } : { kind: 'network' } };
  }
}

function resultOf(reason: string): ServiceResult {
  if (reason === 'aborted') return { kind: 'aborted' };
  return reason === 'first-byte-time-out' ? { kind: 'time-out' } : { kind: 'network' };
}

/** A number from 0 up to 1. */
function drawFrom(secrets: Pick<Secrets, 'randomBytes'>): number {
  const [a = 0, b = 0, c = 0] = secrets.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}

export interface AnswerTokens {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** What a model has answered. Tokens are null where it did not tell. */
type ReadAnswer =
  | { readonly outcome: 'read'; readonly content: string; readonly tokens: AnswerTokens | null }
  | { readonly outcome: 'late' | 'broken' };

interface AnswerBounds {
  readonly clock: Clock;
  /** From the status to the last byte. */
  readonly timeoutMs: number;
}

/** A record of the largest CV is a tenth of it. */
const MOST_BYTES = 4 * 1024 * 1024;

/** The whole answer of a chat completion. What is none is broken: the provider is to be asked no further. */
async function readAnswer(answer: UpstreamAnswer, { clock, timeoutMs }: AnswerBounds): Promise<ReadAnswer> {
  const late = Promise.withResolvers<'late'>();
  const timer = clock.after(timeoutMs, () => late.resolve('late'));
  const reader = answer.body.getReader();
  try {
    const bytes = await Promise.race([gather(reader), late.promise]);
    if (bytes === 'late') {
      reader.cancel().catch(() => {});
      return { outcome: 'late' };
    }
    return bytes === null ? { outcome: 'broken' } : contentOf(bytes);
  } catch {
    return { outcome: 'broken' };
  } finally {
    timer.cancel();
  }
}

async function gather(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_BYTES) {
      reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function contentOf(bytes: Uint8Array): ReadAnswer {
  const body = objectOf(JSON.parse(new TextDecoder().decode(bytes)));
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const { content } = objectOf(objectOf(choice).message);
  if (typeof content !== 'string') return { outcome: 'broken' };
  return { outcome: 'read', content, tokens: tokensOf(objectOf(body.usage)) };
}

function tokensOf(usage: Readonly<Record<string, unknown>>): AnswerTokens | null {
  const promptTokens = count(usage.prompt_tokens);
  const completionTokens = count(usage.completion_tokens);
  if (promptTokens === null || completionTokens === null) return null;
  const cachedTokens = count(objectOf(usage.prompt_tokens_details).cached_tokens) ?? 0;
  return { promptTokens, cachedTokens: Math.min(cachedTokens, promptTokens), completionTokens };
}

function count(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
