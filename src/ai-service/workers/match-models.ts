import { z } from 'zod';
import { judgeResult, type ServiceResult, serviceOf } from '../../domain/breakers/breaker.ts';
import type { Breakers } from '../../domain/breakers/breakers.ts';
import { type AskModelParts, askModel } from '../../domain/documents/ask-model.ts';
import type {
  AnswerCall,
  Answered,
  EmbedCall,
  Embedded,
  Keep,
  PlatformModelCalls,
  Unavailable,
} from '../../domain/matching/generator/model-calls.ts';
import type { Alias, AliasTarget } from '../../domain/models/aliases.ts';
import type { Database } from '../../ports/database.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { CallEnd, PlatformCall, PlatformCalls } from './platform-calls.ts';

interface MatchModelParts extends Omit<AskModelParts, 'breakers' | 'secrets'> {
  readonly database: Database;
  readonly breakers: Pick<Breakers, 'enter' | 'states'>;
  readonly secrets: Pick<Secrets, 'randomBytes' | 'newId'>;
  readonly platformCalls: PlatformCalls;
  /** Null where nobody can answer for it. */
  readonly aliases: () => { readonly embed: Alias | null; readonly extract: Alias | null };
}

/**
 * Model calls of matching, as calls of the company whose talents and jobs they are about (G-28): its credit is asked
 * before, the call and its charge are written after. Refused for credits, the embedded embeddings work on unpaid, and
 * nobody words reasons. Nothing here rejects: matching does without.
 */
export function createMatchModelCalls(parts: MatchModelParts): PlatformModelCalls {
  const { database, platformCalls, secrets, log, aliases } = parts;

  async function paidCall<Result extends { readonly outcome: string }>(
    wanted: {
      readonly companyId: string;
      readonly alias: Alias;
      readonly endpoint: string;
      readonly bytes: number;
      readonly keep: Keep<Result> | undefined;
    },
    work: (
      call: PlatformCall,
    ) => Promise<{ readonly result: Result | Unavailable; readonly end: CallEnd | null }>,
  ): Promise<Result | Unavailable> {
    const { companyId, alias, endpoint, bytes: bodyBytes, keep } = wanted;
    let call: PlatformCall | null = null;
    try {
      call = await platformCalls.begin({
        companyId,
        alias,
        endpoint,
        requestId: `match ${secrets.newId()}`,
        bodyBytes,
      });
      const { result, end } = await work(call);
      if (end === null) return result;
      const { charge } = call;
      await database.transaction(async (transaction) => {
        if (!isUnavailable(result)) await keep?.(transaction, result);
        // Last of all: the account that it charges is locked until the commit, and all the company's calls wait for it.
        await charge(transaction, end);
      });
      return result;
    } catch (error) {
      log.warn('a model call for matching failed', { companyId, alias: alias.alias, error });
      return { outcome: 'unavailable', reason: 'failed' };
    } finally {
      await call?.release().catch((error: unknown) => {
        log.warn('what a model call for matching held could not be given back', { companyId, error });
      });
    }
  }

  async function embed({ companyId, texts, signal, keep }: EmbedCall) {
    const { embed: alias } = aliases();
    if (alias === null || alias.targets.length === 0) return NO_PROVIDER;
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    const wanted = { companyId, alias, endpoint: 'embeddings', bytes, keep };
    return await paidCall<Vectors>(wanted, async (call) => {
      const asked = await askForVectors(parts, alias, texts, { mayAsk: call.mayAsk, signal });
      const { outcome } = asked;
      if (outcome === 'unavailable') {
        const { reason } = asked;
        return { result: { outcome, reason }, end: reason === 'no-credits' ? NOTHING_PAID : asked.end };
      }
      const { vectors, model, end } = asked;
      // Without credits it was the embedded model, unpaid: the refusal is what is written down.
      return {
        result: { outcome: 'embedded', vectors, model } as const,
        end: call.mayAsk ? end : NOTHING_PAID,
      };
    });
  }

  async function answer({ companyId, instruction, data, schema, signal, keep }: AnswerCall) {
    const { extract: alias } = aliases();
    if (alias === null || !alias.targets.some((target) => serviceOf(target) !== null)) return NO_PROVIDER;
    const bytes = instruction.length + data.length;
    const wanted = { companyId, alias, endpoint: 'match-reasons', bytes, keep };
    return await paidCall<Words>(wanted, async (call) => {
      if (!call.mayAsk) return { result: NO_CREDITS, end: NOTHING_PAID };
      const messages = [
        { role: 'system', content: instruction },
        { role: 'user', content: data },
      ] as const;
      const responseFormat = {
        type: 'json_schema',
        json_schema: { name: 'match_reasons', strict: true, schema },
      };
      const asked = await askModel(parts, alias, { messages, responseFormat }, signal);
      if (asked.outcome === 'failed') {
        const isRejected = asked.reason === 'breaker-open';
        const end = isRejected ? null : { ...NOTHING_PAID, targetId: asked.targetId, reason: asked.reason };
        return { result: unavailable(isRejected ? 'rejected-by-breaker' : 'failed'), end };
      }
      const end = {
        tokens: asked.tokens,
        targetId: asked.targetId,
        reason: null,
        answeredAtMs: parts.clock.now(),
      };
      return { result: { outcome: 'answered', text: asked.content } as const, end };
    });
  }

  return {
    embed,
    answer,
    breakerState() {
      const { embed: one, extract: other } = aliases();
      const states = parts.breakers.states();
      const own = [one, other]
        .flatMap((alias) => alias?.targets ?? [])
        .map((target) => states[serviceOf(target) ?? '']);
      if (own.includes('open')) return 'open';
      return own.includes('half-open') ? 'half-open' : 'closed';
    },
  };
}

type Vectors = Exclude<Embedded, Unavailable>;
type Words = Exclude<Answered, Unavailable>;

function isUnavailable(result: { readonly outcome: string }): result is Unavailable {
  return result.outcome === 'unavailable';
}

const NOTHING_PAID: CallEnd = { tokens: null, targetId: null, reason: null, answeredAtMs: null };
const NO_PROVIDER = unavailable('no-provider');
const NO_CREDITS = unavailable('no-credits');

function unavailable(reason: Unavailable['reason']): Unavailable {
  return { outcome: 'unavailable', reason };
}

type AskedVectors =
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
async function askForVectors(
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
