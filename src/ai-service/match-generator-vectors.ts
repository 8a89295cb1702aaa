import { z } from 'zod';
import { judgeResult, type ServiceResult } from '../domain/breakers/failing-result.ts';
import { serviceOf } from '../domain/breakers/target-service.ts';
import type { Unavailable } from '../domain/matching/model-calls.ts';
import type { Alias, AliasTarget } from '../domain/models/aliases.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../ports/model-upstream.ts';
import type { MatchModelParts } from './match-generator-calls.ts';
import type { CallEnd } from './workers/platform-calls.ts';

export type AskedVectors =
  | {
      readonly outcome: 'embedded';
      readonly vectors: readonly (readonly number[])[];
      readonly model: string;
      readonly end: CallEnd;
    }
  /** `end` is what is written down of it; null where nobody was asked. */
  | (Unavailable & { readonly end: CallEnd | null });

interface Bounds {
  /** False where the company cannot pay: only the embedded model is asked then. */
  readonly mayAsk: boolean;
  readonly signal: AbortSignal;
}

const MOST_BYTES = 16 * 1024 * 1024;

const answerSchema = z.object({
  data: z
    .array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()).max(4_096) }))
    .max(1_000),
  usage: z.object({ prompt_tokens: z.int().nonnegative() }).optional(),
});

/**
 * Vectors of texts by the alias's targets, in the order in which they are listed and not by weight: vectors of two models
 * cannot be compared, so the first that answers is to be the same one each time.
 */
export async function askForVectors(
  parts: MatchModelParts,
  alias: Alias,
  texts: readonly string[],
  { mayAsk, signal }: Bounds,
): Promise<AskedVectors> {
  let failed: AskedVectors = {
    outcome: 'unavailable',
    reason: mayAsk ? 'rejected-by-breaker' : 'no-credits',
    end: null,
  };
  for (const target of alias.targets) {
    const service = serviceOf(target);
    if (service !== null && !mayAsk) continue;
    const entry = service === null ? null : await parts.breakers.enter(service);
    if (entry?.outcome === 'rejected') continue;
    const asked = await askTarget(parts, target, texts, signal);
    if (entry !== null) entry.report(judgeResult(asked.result));
    if (asked.vectors !== null) {
      parts.models.noteSuccess(target.id);
      const tokens = { promptTokens: asked.promptTokens, cachedTokens: 0, completionTokens: 0 };
      const end = { tokens, targetId: target.id, reason: null, answeredAtMs: parts.clock.now() };
      return { outcome: 'embedded', vectors: asked.vectors, model: target.model.slice(0, 300), end };
    }
    const end = { tokens: null, targetId: target.id, reason: asked.reason, answeredAtMs: null };
    failed = { outcome: 'unavailable', reason: 'failed', end };
    if (asked.result.kind === 'aborted') return failed;
    parts.models.noteFailure(target.id);
    parts.log.warn('a model target failed', {
      alias: alias.alias,
      targetId: target.id,
      reason: asked.reason,
    });
  }
  return failed;
}

interface AskedTarget {
  readonly vectors: readonly (readonly number[])[] | null;
  readonly promptTokens: number;
  readonly reason: string;
  readonly result: ServiceResult;
}

async function askTarget(
  { upstream, clock, answerTimeoutMs }: MatchModelParts,
  target: AliasTarget,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<AskedTarget> {
  const failed = (reason: string, result: ServiceResult) => ({
    vectors: null,
    promptTokens: 0,
    reason,
    result,
  });
  const tooLate = new AbortController();
  const bound = AbortSignal.any([signal, tooLate.signal]);
  const timer = clock.after(answerTimeoutMs, () => tooLate.abort());
  try {
    const body = JSON.stringify({ model: target.model, input: texts, encoding_format: 'float' });
    const bytes = new TextEncoder().encode(body);
    const answer = await upstream.send(target, {
      endpoint: 'embeddings',
      body: bytes,
      headers: {},
      signal: bound,
    });
    const { status } = answer;
    if (status < 200 || status >= 300) {
      answer.body.cancel().catch(() => {});
      return failed(String(status), { kind: 'answered', status });
    }
    const read = answerSchema.safeParse(JSON.parse(await textOf(answer)));
    if (!read.success || read.data.data.length !== texts.length)
      return failed('broken', { kind: 'answered', status });
    const vectors = read.data.data
      .toSorted((one, other) => one.index - other.index)
      .map(({ embedding }) => embedding);
    return {
      vectors,
      promptTokens: read.data.usage?.prompt_tokens ?? 0,
      reason: '',
      result: { kind: 'answered', status },
    };
  } catch (error) {
    if (signal.aborted) return failed('aborted', { kind: 'aborted' });
    const isLate = tooLate.signal.aborted || (error as UpstreamFailure).reason === 'first-byte-time-out';
    return failed(isLate ? 'late' : 'broken', { kind: isLate ? 'time-out' : 'network' });
  } finally {
    timer.cancel();
  }
}

async function textOf({ body }: UpstreamAnswer): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error('the answer is too large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
