import { TIER_FIELDS, type Tiers } from '../../domain/models/tiers/tiers.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import type { AnswerFields } from './scan-answer.ts';

/**
 * Reads the tier that a provider says it has used: at the top of chat completions and responses, in the usage of messages. Only
 * calls whose price depends on it have one.
 */
export interface TierReader {
  /** An event of a stream, which is bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  noteWhole(bytes: Uint8Array): void;
  /** What was reported last of each. */
  tiers(): Tiers;
}

export function createTierReader(wire: ClientWire): TierReader {
  let reported: Tiers = {};
  let isFirst = true;

  function noteObject(value: unknown): void {
    if (!isObject(value)) return;
    const said = TIER_FIELDS.map((field) => [field, value[field]] as const);
    reported = { ...reported, ...Object.fromEntries(said.filter(([, tier]) => typeof tier === 'string')) };
  }

  function noteAnswer(answer: JsonObject | null): void {
    noteObject(wire === 'messages' ? answer?.usage : answer);
  }

  return {
    note(bytes, start, end, { usageEnd, innerUsageEnd, hasInnerUsage }) {
      // Chunks repeat it, so the first and those with usage are enough. Events of the other wires have it beside usage.
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

/** Of an answer in one piece. */
export function reportedTiers(wire: ClientWire, bytes: Uint8Array): Tiers {
  const reader = createTierReader(wire);
  reader.noteWhole(bytes);
  return reader.tiers();
}

function parsed(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
