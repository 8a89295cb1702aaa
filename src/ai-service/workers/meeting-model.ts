import { serviceOf } from '../../domain/breakers/breaker.ts';
import type { MeetingModel } from '../../domain/meetings/process-meeting.ts';
import {
  type AskModelParts,
  askModel,
  createFormatMemory,
  jsonQuestion,
  type ModelOutcome,
} from '../../domain/model-calls/ask-model.ts';
import { type PlatformCalls, releasedOnFailure } from '../../domain/model-calls/platform-calls.ts';
import type { Alias } from '../../domain/models/aliases.ts';

interface MeetingModelParts extends AskModelParts {
  readonly platformCalls: PlatformCalls;
  /** Null if there is no such alias. */
  readonly extractAlias: () => Alias | null;
}

const NO_MODEL = { answer: null, charge: async () => {}, release: async () => {} };
const NOT_PAYABLE: ModelOutcome = { outcome: 'failed', reason: 'not-payable', targetId: null };

/**
 * Summaries by the extract alias, made as calls of the company that owns the meeting (G-28). If no provider serves the
 * alias, no model is called. An unusable answer is not charged.
 */
export function createMeetingModel(parts: MeetingModelParts): MeetingModel {
  const { platformCalls, extractAlias, clock } = parts;
  const asking = { ...parts, formats: createFormatMemory(clock) };
  return {
    async ask(question, { companyId, requestId, signal }) {
      const alias = extractAlias();
      if (alias === null || !alias.targets.some((target) => serviceOf(target) !== null)) return NO_MODEL;
      const bodyBytes = question.instruction.length + question.data.length;
      const endpoint = 'meeting-summary';
      const call = await platformCalls.begin({ companyId, alias, endpoint, requestId, bodyBytes });
      return await releasedOnFailure(call, async () => {
        const answer = call.mayAsk
          ? await askModel(
              asking,
              call.alias,
              jsonQuestion('meeting_summary', question),
              signal,
              call.fallbacks,
            )
          : NOT_PAYABLE;
        signal.throwIfAborted();
        const isAnswered = answer.outcome === 'answered';
        const answeredAtMs = isAnswered ? clock.now() : null;
        return {
          answer: isAnswered ? answer.content : null,
          charge: (transaction, isUsable) =>
            call.charge(transaction, { ...usageOf(answer, isUsable), answeredAtMs }),
          release: call.release,
        };
      });
    },
  };
}

function usageOf(answer: ModelOutcome, isUsable: boolean) {
  const { targetId } = answer;
  if (answer.outcome === 'failed') return { tokens: null, targetId, reason: answer.reason };
  if (!isUsable) return { tokens: null, targetId, reason: 'answer-unusable' };
  const { tokens, served } = answer;
  return { tokens, targetId, reason: tokens === null ? 'no-usage' : null, served };
}
