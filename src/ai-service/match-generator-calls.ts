import type { Breakers } from '../domain/breakers/breakers.ts';
import { serviceOf } from '../domain/breakers/target-service.ts';
import { type AskModelParts, askModel } from '../domain/documents/parse-ask-model.ts';
import type {
  AnswerCall,
  Answered,
  EmbedCall,
  Embedded,
  Keep,
  PlatformModelCalls,
  Unavailable,
} from '../domain/matching/model-calls.ts';
import type { Alias } from '../domain/models/aliases.ts';
import type { Database } from '../ports/database.ts';
import type { Secrets } from '../ports/secrets.ts';
import { askForVectors } from './match-generator-vectors.ts';
import type { CallEnd, PlatformCall, PlatformCalls } from './workers/platform-calls.ts';

export interface MatchModelParts extends Omit<AskModelParts, 'breakers' | 'secrets'> {
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
