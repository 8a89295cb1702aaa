import type { Clock } from '../../ports/clock.ts';
import type { UpstreamAnswer } from '../../ports/model-upstream.ts';

export interface AnswerTokens {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** What a model has answered. Tokens are null where it did not tell. */
export type ReadAnswer =
  | { readonly outcome: 'read'; readonly content: string; readonly tokens: AnswerTokens | null }
  | { readonly outcome: 'late' | 'broken' };

export interface AnswerBounds {
  readonly clock: Clock;
  /** From the status to the last byte. */
  readonly timeoutMs: number;
}

/** A record of the largest CV is a tenth of it. */
const MOST_BYTES = 4 * 1024 * 1024;

/** The whole answer of a chat completion. What is none is broken: the provider is to be asked no further. */
export async function readAnswer(
  answer: UpstreamAnswer,
  { clock, timeoutMs }: AnswerBounds,
): Promise<ReadAnswer> {
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
