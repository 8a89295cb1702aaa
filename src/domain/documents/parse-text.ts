import { addedTokens, type CallTokens } from '../calls/settlement/finished-call.ts';
import {
  type AskModelParts,
  askModel,
  createFormatMemory,
  type ModelMessage,
  type ModelOutcome,
  type ModelQuestion,
} from '../model-calls/ask-model.ts';
import type { CallUsage } from '../model-calls/paid-call.ts';
import type { Alias } from '../models/aliases.ts';
import type { CheckedAnswer, DocumentEngine, ParsedText, ParseKind } from './document-engine.ts';

/**
 * How a text becomes a record:
 *
 *   the alias has providers  -> called; the answer is checked against the text; if it has problems, called again with them
 *                               usable -> the better record of the two, charged for all tokens of both answers
 *                               unusable twice, or no provider answers -> the embedded engine instead, free of charge
 *   it has none              -> the embedded engine is the model: charged for the tokens it read and wrote
 *   providers may not be called (no credits) -> the embedded engine instead, free of charge
 *
 * A record contains nothing from a model's answer that is not in the text.
 */
export interface ParsedDocument extends CallUsage {
  readonly engine: 'model' | 'embedded';
  readonly parsed: ParsedText;
}

interface TextToParse {
  /** The company of the text; companies use the engine by turns. */
  readonly companyId: string;
  readonly kind: ParseKind;
  readonly text: string;
  readonly alias: Alias;
  /** The aliases that answer if this one cannot. */
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly signal: AbortSignal;
  /** False without credits: only the embedded engine is used, free of charge. */
  readonly mayAsk: boolean;
}

export interface TextParser {
  parse(text: TextToParse): Promise<ParsedDocument>;
}

export interface TextParserParts extends AskModelParts {
  readonly engine: DocumentEngine;
  /** Counts as the embedded models do. */
  readonly countTokens: (text: string, signal: AbortSignal) => Promise<number>;
}

export function createTextParser(parts: TextParserParts): TextParser {
  const { engine, countTokens, clock } = parts;
  const asking = { ...parts, formats: createFormatMemory(clock) };

  async function embeddedAsModel({ companyId, kind, text, signal }: TextToParse): Promise<ParsedDocument> {
    const parsed = await engine.read(kind, text, companyId, signal);
    const tokens = {
      promptTokens: await countTokens(text, signal),
      cachedTokens: 0,
      completionTokens: await countTokens(JSON.stringify(parsed.value), signal),
    };
    const answeredAtMs = clock.now();
    return { engine: 'embedded', parsed, tokens, targetId: 'embedded', reason: null, answeredAtMs };
  }

  async function withoutModel(request: TextToParse, failed: Failed): Promise<ParsedDocument> {
    const { companyId, kind, text, signal } = request;
    const parsed = await engine.read(kind, text, companyId, signal);
    return { engine: 'embedded', parsed, tokens: null, ...failed };
  }

  async function withModel(request: TextToParse): Promise<ParsedDocument> {
    const { companyId, kind, text, alias, signal } = request;
    const question = engine.question(kind, text);
    const first = await askModel(asking, alias, question, signal, request.fallbacks);
    if (first.outcome === 'failed') return await withoutModel(request, failedBy(first));
    const answeredAtMs = clock.now();
    const checked = await engine.check(kind, text, first.content, companyId);
    const usable = checked.outcome === 'checked' ? checked.parsed : null;
    if (usable !== null && checked.problems.length === 0) return byModel(usable, [first], answeredAtMs);
    const again = repaired(question, (said) => engine.repair(said, first.content, checked.problems));
    // Uses the same alias, so that both answers have the same price.
    const answering = first.served?.by ?? alias;
    const second = await askModel(asking, answering, again, signal);
    if (second.outcome === 'failed') {
      if (usable !== null) return byModel(usable, [first], answeredAtMs);
      return await withoutModel(request, { ...failedBy(second), answeredAtMs });
    }
    const better = betterOf(checked, await engine.check(kind, text, second.content, companyId));
    if (better !== null) return byModel(better, [first, second], answeredAtMs);
    const { targetId } = second;
    return await withoutModel(request, { reason: 'answer-unusable', targetId, answeredAtMs });
  }

  return {
    async parse(text) {
      const hasProvider = text.alias.targets.some(({ baseUrl }) => baseUrl !== null);
      if (!text.mayAsk) {
        return await withoutModel(text, { reason: 'not-payable', targetId: null, answeredAtMs: null });
      }
      return hasProvider ? await withModel(text) : await embeddedAsModel(text);
    },
  };
}

/** Adds the round that corrects the answer to the question, for targets of either format. */
function repaired(
  question: ModelQuestion,
  add: (said: readonly ModelMessage[]) => readonly ModelMessage[],
): ModelQuestion {
  const { messages, plainMessages, responseFormat } = question;
  const plain = plainMessages === undefined ? undefined : add(plainMessages);
  return { messages: add(messages), responseFormat, plainMessages: plain };
}

/** The second answer, unless it is unusable, or it has problems as well and the text confirms fewer of its values. */
function betterOf(first: CheckedAnswer, second: CheckedAnswer): ParsedText | null {
  if (second.outcome !== 'checked') return first.outcome === 'checked' ? first.parsed : null;
  if (first.outcome !== 'checked' || second.problems.length === 0) return second.parsed;
  return second.parsed.evidence.length >= first.parsed.evidence.length ? second.parsed : first.parsed;
}

type Failed = Pick<ParsedDocument, 'reason' | 'targetId' | 'answeredAtMs'>;
type Answered = Extract<ModelOutcome, { outcome: 'answered' }>;

function failedBy({ reason, targetId }: Extract<ModelOutcome, { outcome: 'failed' }>): Failed {
  return { reason: `upstream-${reason}`, targetId, answeredAtMs: null };
}

/** One charge for all answers. If one of them reported no tokens, its cost is unknown (G-31). */
function byModel(parsed: ParsedText, answers: readonly Answered[], answeredAtMs: number): ParsedDocument {
  let sum: CallTokens | null = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  for (const { tokens } of answers) {
    sum = sum === null || tokens === null ? null : addedTokens(sum, tokens);
  }
  const targetId = answers.at(-1)?.targetId ?? null;
  const reason = sum === null ? 'no-usage' : null;
  const prompts = answers.length;
  const { served } = answers[0] as Answered;
  return { engine: 'model', parsed, tokens: sum, targetId, reason, answeredAtMs, prompts, served };
}
