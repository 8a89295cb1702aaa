import type { FinishedCall } from '../../domain/calls/settlement/finished-call.ts';
import type { UnpricedCalls } from '../../domain/limits/unpriced-calls.ts';
import { type CallEnding, surchargeOf } from '../../domain/model-calls/paid-call.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { MOST_TOOL_USES } from '../../domain/models/hosted-tools.ts';
import { measuredName } from '../../domain/models/tiers/unpriced-fields.ts';
import type { AdmittedModelCall } from '../admission/admit.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { createTierReader } from '../json/reported-tiers.ts';
import type { AnswerFields } from '../json/scan-answer.ts';
import { createToolUseCounter } from '../json/tool-uses.ts';
import { createUnpricedReader } from '../json/unpriced-report.ts';

/** Reads from an answer what the call costs besides the price of its tokens. */
export interface AnswerCosts {
  /** Reads an event of a stream, at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  noteWhole(bytes: Uint8Array): void;
  /** `alias` is the one that answered. A call that is free has its tiers only. */
  ending(alias: Alias, isPaid: boolean): Pick<CallEnding, OfCosts>;
}

type OfCosts = 'surchargeMicro' | 'toolUses' | 'prompts' | 'reportedTiers' | 'unpriced';

interface CostedCall extends Pick<AdmittedModelCall, 'hosted' | 'tiers' | 'unpriced'> {
  readonly route: { readonly wire: ClientWire };
  readonly fields: { readonly prompts: number };
}

/** Null for nearly every call: its tokens are all that it costs. */
export function createAnswerCosts({
  route,
  fields,
  hosted,
  tiers,
  unpriced,
}: CostedCall): AnswerCosts | null {
  if (hosted == null && tiers == null && unpriced === undefined) return null;
  const uses = hosted == null ? null : createToolUseCounter(route.wire, hosted.tools);
  const tier = tiers == null ? null : createTierReader(route.wire);
  const unpricedReader = unpriced === undefined ? null : createUnpricedReader(route.wire, unpriced);
  const readers = [uses, tier, unpricedReader].filter((reader) => reader !== null);
  return {
    note(bytes, start, end, found) {
      for (const reader of readers) reader.note(bytes, start, end, found);
    },
    noteWhole(bytes) {
      for (const reader of readers) reader.noteWhole(bytes);
    },
    ending(alias, isPaid) {
      const reported = tier === null ? {} : { reportedTiers: tier.tiers() };
      if (!isPaid) return reported;
      const surcharge = hosted == null || uses === null ? {} : surchargeOf(hosted, uses.uses());
      if (unpricedReader === null) return { ...reported, ...surcharge };
      const report = unpricedReader.report(alias);
      return { ...reported, ...withUnpriced(fields.prompts, surcharge, report) };
    },
  };
}

/**
 * Counts a call that its provider reported an unknown cost for. A count that fails lets calls pass: the cost is recorded all
 * the same.
 */
export async function countUnpriced(
  unpricedCalls: UnpricedCalls,
  { companyId, unpriced }: Pick<FinishedCall, 'companyId' | 'unpriced'>,
): Promise<void> {
  if (unpriced === undefined) return;
  await unpricedCalls.answered(companyId, [...new Set(unpriced.map(measuredName))]).catch(() => {});
}

/** The model reads its prompt again after each use of a tool, also of one that has no price. */
function withUnpriced(
  prompts: number,
  surcharge: Pick<CallEnding, 'surchargeMicro' | 'toolUses' | 'prompts'>,
  { names, toolUses }: ReturnType<ReturnType<typeof createUnpricedReader>['report']>,
): Pick<CallEnding, OfCosts> {
  const uses = Object.values(toolUses).reduce((sum, count) => sum + count, 0);
  const ofTools =
    uses === 0
      ? {}
      : {
          toolUses: { ...toolUses, ...surcharge.toolUses },
          prompts: (surcharge.prompts ?? prompts) + Math.min(uses, MOST_TOOL_USES),
        };
  return { ...surcharge, ...ofTools, ...(names.length === 0 ? {} : { unpriced: names }) };
}
