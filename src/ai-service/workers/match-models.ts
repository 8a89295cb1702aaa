import { type CallResult, MATCH_GENERATOR_BREAKER, serviceOf } from '../../domain/breakers/breaker.ts';
import type { Breakers } from '../../domain/breakers/breakers.ts';
import type {
  AnswerCall,
  Answered,
  EmbedCall,
  Embedded,
  Keep,
  PlatformModelCalls,
  Unavailable,
} from '../../domain/matching/generator/model-calls.ts';
import {
  ABORTED,
  type AskModelParts,
  askModel,
  createFormatMemory,
  jsonQuestion,
  type ModelOutcome,
  NOT_TRIED,
  REFUSED,
} from '../../domain/model-calls/ask-model.ts';
import { type EmbeddedTexts, embedModelOf, embedTexts } from '../../domain/model-calls/embed-texts.ts';
import type { CallUsage } from '../../domain/model-calls/paid-call.ts';
import type { PlatformCall, PlatformCalls } from '../../domain/model-calls/platform-calls.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { Database } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';

interface MatchModelParts extends AskModelParts {
  readonly database: Database;
  readonly breakers: Pick<Breakers, 'enter' | 'states'>;
  readonly secrets: Pick<Secrets, 'randomBytes' | 'newId'>;
  readonly platformCalls: PlatformCalls;
  /** The version of the embedded encoder. */
  readonly embeddedEncoder: string;
  /** Null if there is no such alias. */
  readonly aliases: () => { readonly embed: Alias | null; readonly extract: Alias | null };
}

/**
 * Model calls of matching, made as calls of the company that owns the talents and jobs (G-28): its credit is checked
 * before, and the call and its charge are written afterwards. If credits do not suffice, the embedded embeddings are
 * still used, unpaid, and no reasons are written. These functions never reject: matching continues without the result.
 *
 * The generator has its own breaker, in addition to those of the providers: five consecutive unsuccessful calls, for
 * whatever reason, open it, as documented. A provider's breaker counts only failures of that provider.
 */
export function createMatchModelCalls(parts: MatchModelParts): PlatformModelCalls {
  const { database, platformCalls, secrets, clock, log, aliases } = parts;
  const asking = { ...parts, formats: createFormatMemory(clock) };

  async function paidCall<Result extends { readonly outcome: string }>(
    params: {
      readonly companyId: string;
      readonly alias: Alias;
      readonly endpoint: string;
      readonly bodyBytes: number;
      readonly keep: Keep<Result> | undefined;
    },
    work: (call: PlatformCall) => Promise<Worked<Result>>,
  ): Promise<Result | Unavailable> {
    const { companyId, alias, endpoint, bodyBytes, keep } = params;
    const requestId = `match ${secrets.newId()}`;
    let call: PlatformCall | null = null;
    try {
      call = await platformCalls.begin({ companyId, alias, endpoint, requestId, bodyBytes });
      const { result, usage } = await work(call);
      if (usage === null) return result;
      const { charge } = call;
      await database.transaction(async (transaction) => {
        if (!isUnavailable(result)) await keep?.(transaction, result);
        await charge(transaction, usage);
      });
      return result;
    } catch (error) {
      log.warn('a model call for matching failed', { companyId, alias: alias.alias, error });
      return unavailable('failed');
    } finally {
      await call?.release().catch((error: unknown) => {
        log.warn('what a model call for matching held could not be given back', { companyId, error });
      });
    }
  }

  /** Used only if a provider may be called: the embedded models need no breaker. */
  async function guarded<Answer extends ModelOutcome | EmbeddedTexts>(
    { targets, ownKey }: Alias,
    mayAsk: boolean,
    ask: () => Promise<Answer>,
  ): Promise<Answer | typeof REJECTED> {
    if (!mayAsk || !targets.some((target) => serviceOf(target) !== null)) return await ask();
    const entry = await parts.breakers.enter(MATCH_GENERATOR_BREAKER);
    if (entry.outcome === 'rejected') return REJECTED;
    let result: CallResult = 'ignored';
    try {
      const answer = await ask();
      // All companies share the breaker: a failure with a company's own key is not representative of the others.
      result = ownKey !== undefined && answer.outcome === 'failed' ? 'ignored' : resultOf(answer);
      return answer;
    } finally {
      entry.report(result);
    }
  }

  async function embed({ companyId, texts, signal, keep }: EmbedCall): Promise<Embedded> {
    const { embed: alias } = aliases();
    if (alias === null || alias.targets.length === 0) return unavailable('no-provider');
    const bodyBytes = texts.reduce((sum, text) => sum + text.length, 0);
    const params = { companyId, alias, endpoint: 'embeddings', bodyBytes, keep };
    return await paidCall<Vectors>(params, async ({ mayAsk, alias: own }) => {
      const uses = mayAsk ? 'all' : 'embedded';
      const answer = await guarded(own, mayAsk, () => embedTexts(parts, own, texts, { uses, signal }));
      if (answer.outcome === 'failed') {
        return !mayAsk && answer.reason === NOT_TRIED ? WITHOUT_CREDITS : failed(answer);
      }
      const { vectors, model, targetId, promptTokens } = answer;
      const tokens = { promptTokens, cachedTokens: 0, completionTokens: 0 };
      const paid = { tokens, targetId, reason: null, answeredAtMs: clock.now(), prompts: texts.length };
      // Without credits the embedded model was used, unpaid; only the refusal is recorded.
      return { result: { outcome: 'embedded', vectors, model }, usage: mayAsk ? paid : NOTHING_USED };
    });
  }

  async function answer({ companyId, signal, keep, ...question }: AnswerCall): Promise<Answered> {
    const { extract: alias } = aliases();
    if (alias === null || !alias.targets.some((target) => serviceOf(target) !== null)) {
      return unavailable('no-provider');
    }
    const bodyBytes = question.instruction.length + question.data.length;
    const params = { companyId, alias, endpoint: 'match-reasons', bodyBytes, keep };
    return await paidCall<Words>(params, async ({ mayAsk, alias: own, fallbacks }) => {
      if (!mayAsk) return WITHOUT_CREDITS;
      const words = jsonQuestion('match_reasons', question);
      const answer = await guarded(own, mayAsk, () => askModel(asking, own, words, signal, fallbacks));
      if (answer.outcome === 'failed') return failed(answer);
      const { tokens, targetId, content: text, served } = answer;
      const usage = { tokens, targetId, reason: null, answeredAtMs: clock.now(), served };
      return { result: { outcome: 'answered', text }, usage };
    });
  }

  return {
    embed,
    answer,
    embedModel: () => embedModelOf(aliases().embed, parts.embeddedEncoder),
    breakerState() {
      const { embed: one, extract: other } = aliases();
      const states = parts.breakers.states();
      const own = [one, other]
        .flatMap((alias) => alias?.targets ?? [])
        .map((target) => states[serviceOf(target) ?? '']);
      if (own.some((state) => state !== undefined)) own.push(states[MATCH_GENERATOR_BREAKER]);
      if (own.includes('open')) return 'open';
      return own.includes('half-open') ? 'half-open' : 'closed';
    },
  };
}

type Vectors = Exclude<Embedded, Unavailable>;
type Words = Exclude<Answered, Unavailable>;

interface Worked<Result> {
  readonly result: Result | Unavailable;
  /** The usage to record; null if no model was called. */
  readonly usage: CallUsage | null;
}

const REJECTED = { outcome: 'failed', reason: NOT_TRIED, targetId: null } as const;

/**
 * Not failures: a provider whose breaker is open was not called, a call that we ended proves nothing, and a model that
 * declines one question is working.
 */
const NO_FAILURE: ReadonlySet<string> = new Set([NOT_TRIED, ABORTED, REFUSED]);

function resultOf(answer: ModelOutcome | EmbeddedTexts): CallResult {
  if (answer.outcome !== 'failed') return 'success';
  return NO_FAILURE.has(answer.reason) ? 'ignored' : { failure: answer.reason };
}

const NOTHING_USED: CallUsage = { tokens: null, targetId: null, reason: null, answeredAtMs: null };
const WITHOUT_CREDITS = { result: unavailable('no-credits'), usage: NOTHING_USED };

function failed({ reason, targetId }: Extract<ModelOutcome | EmbeddedTexts, { outcome: 'failed' }>) {
  if (reason === NOT_TRIED) return { result: unavailable('rejected-by-breaker'), usage: null };
  return { result: unavailable('failed'), usage: { ...NOTHING_USED, targetId, reason } };
}

function isUnavailable(result: { readonly outcome: string }): result is Unavailable {
  return result.outcome === 'unavailable';
}

function unavailable(reason: Unavailable['reason']): Unavailable {
  return { outcome: 'unavailable', reason };
}
