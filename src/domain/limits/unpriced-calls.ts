import type { Clock } from '../../ports/clock.ts';
import type { SharedState } from '../../ports/shared-state.ts';

/**
 * Calls whose provider reported a cost that no price of the alias covers. The operator pays for them, so a company has a number
 * of them a day, in UTC; further calls that could have such a cost are refused. A call counts when it has been answered, so
 * that calls in flight together may exceed the number by as many as they are.
 */
export interface UnpricedCalls {
  readonly perDay: number;
  /** Whether the company has had more of them today. Asked only for calls that could become one. */
  isSpent(companyId: string): Promise<boolean>;
  /** A call was answered with such a cost; `labels` are the fields that caused it. */
  answered(companyId: string, labels: readonly string[]): Promise<void>;
  /** By label, since the start of this process. */
  counts(): Readonly<Record<string, number>>;
}

interface UnpricedCallsParts {
  readonly sharedState: SharedState;
  /** While shared state is unavailable, this process counts alone. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly perDay: number;
}

const DAY_MS = 86_400_000;

export function createUnpricedCalls(parts: UnpricedCallsParts): UnpricedCalls {
  const { sharedState, ownState, clock, perDay } = parts;
  const counts = new Map<string, number>();

  /** The call that exceeds the number is counted too; those after it need not be. */
  async function take(companyId: string, amount: 0 | 1): Promise<number> {
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    const limit = perDay + 1;
    const claims = [{ kind: 'window', name: `unpriced ${day}`, amount, limit, windowMs: DAY_MS }] as const;
    const taken = await sharedState
      .reserve(companyId, claims)
      .catch(() => ownState.reserve(companyId, claims));
    return taken.outcome === 'level-unknown' ? 0 : (taken.limitStates[0]?.used ?? 0);
  }

  return {
    perDay,
    isSpent: async (companyId) => (await take(companyId, 0)) > perDay,
    async answered(companyId, labels) {
      for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
      await take(companyId, 1);
    },
    counts: () => Object.fromEntries(counts),
  };
}
