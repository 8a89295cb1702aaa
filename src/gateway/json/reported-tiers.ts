import { TIER_FIELDS, type Tiers } from '../../domain/models/tiers/tiers.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import type { AnswerFields } from './scan-answer.ts';

/**
 * Reads the tier that a provider reports: at the top level of chat completions and responses, in the usage of messages. Only
 * used for calls whose price depends on it.
 */
export interface TierReader {
  /** Reads an event of a stream, at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  noteWhole(bytes: Uint8Array): void;
  /** The last reported value of each field. */
  tiers(): Tiers;
}

export function createTierReader(wire: ClientWire): TierReader {
  let reported: Tiers = {};
  let isFirst = true;

  function noteObject(value: unknown): void {
    if (!isObject(value)) return;
    const reportedFields = TIER_FIELDS.map((field) => [field, value[field]] as const);
    reported = {
      ...reported,
      ...Object.fromEntries(reportedFields.filter(([, tier]) => typeof tier === 'string')),
    };
  }

  function noteAnswer(answer: JsonObject | null): void {
    noteObject(wire === 'messages' ? answer?.usage : answer);
  }

  return {
    note(bytes, start, end, { usageEnd, innerUsageEnd, hasInnerUsage }) {
      // Chunks repeat it, so the first one and those with usage are enough. Other wire formats have it next to usage.
      const isRead =
        usageEnd > 0 || innerUsageEnd > 0 || hasInnerUsage || (isFirst && wire === 'completions');
      isFirst = false;
      if (!isRead) return;
      const event = parsed(bytes.subarray(start, end));
      const inner = wire === 'responses' ? event?.response : wire === 'messages' ? event?.message : null;
      noteAnswer(isObject(inner) ? inner : event);
    },
    noteWhole: (bytes) => noteAnswer(parsed(bytes)),
    tiers: () => reported,
  };
}

function parsed(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
