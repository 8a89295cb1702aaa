import { serviceOf } from '../../domain/breakers/breaker.ts';
import { type AskedModel, type AskModelParts, askModel } from '../../domain/documents/ask-model.ts';
import type { MeetingModel } from '../../domain/meetings/process-meeting.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { PlatformCalls } from './platform-calls.ts';

export interface MeetingModelParts extends AskModelParts {
  readonly platformCalls: PlatformCalls;
  /** Null where nobody can answer for it. */
  readonly chatAlias: () => Alias | null;
}

const NOBODY = { answer: null, charge: async () => {}, release: async () => {} };

/**
 * Summaries by the chat alias, as calls of the company whose meeting it is (G-28). Where no provider answers for the
 * alias nobody is asked. An answer of no use is not paid for.
 */
export function createMeetingModel(parts: MeetingModelParts): MeetingModel {
  const { platformCalls, chatAlias, clock } = parts;
  return {
    async ask({ instruction, data, schema }, { companyId, requestId, signal }) {
      const alias = chatAlias();
      if (alias === null || !alias.targets.some((target) => serviceOf(target) !== null)) return NOBODY;
      const bodyBytes = instruction.length + data.length;
      const call = await platformCalls.begin({
        ...{ companyId, alias, requestId, bodyBytes },
        endpoint: 'meeting-summary',
      });
      let asked: AskedModel = { outcome: 'failed', reason: 'not-payable', targetId: null };
      try {
        if (call.mayAsk) {
          const messages = [
            { role: 'system', content: instruction },
            { role: 'user', content: data },
          ] as const;
          const responseFormat = {
            type: 'json_schema',
            json_schema: { name: 'meeting_summary', strict: true, schema },
          };
          asked = await askModel(parts, alias, { messages, responseFormat }, signal);
        }
        signal.throwIfAborted();
      } catch (error) {
        await call.release();
        throw error;
      }
      const answeredAtMs = asked.outcome === 'answered' ? clock.now() : null;
      return {
        answer: asked.outcome === 'answered' ? asked.content : null,
        charge: (transaction, isUsable) =>
          call.charge(transaction, { ...endOf(asked, isUsable), answeredAtMs }),
        release: call.release,
      };
    },
  };
}

function endOf(asked: AskedModel, isUsable: boolean) {
  const { targetId } = asked;
  if (asked.outcome === 'failed') return { tokens: null, targetId, reason: asked.reason };
  if (!isUsable) return { tokens: null, targetId, reason: 'answer-unusable' };
  return { tokens: asked.tokens, targetId, reason: asked.tokens === null ? 'no-usage' : null };
}
