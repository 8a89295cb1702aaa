import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { BALANCE_LEVEL } from './publish-level.ts';

export type HeldCredits = (companyId: string) => Promise<bigint | null>;

/** Names nobody's call, holds nothing, and is gone at once. */
const LOOK = { entry: 'look', amount: 0, ttlMs: 1, rule: 'room', limit: Number.MAX_SAFE_INTEGER } as const;

/**
 * What the calls in flight of a company hold against its balance, in micro-credits: for people to see, not to decide
 * by. Null while shared state is away: each process then only knows of its own calls.
 */
export function createHeldCredits(parts: {
  readonly sharedState: SharedState;
  readonly log: Log;
}): HeldCredits {
  const { sharedState, log } = parts;
  return async (companyId) => {
    try {
      const looked = await sharedState.reserve(companyId, [{ kind: 'held', name: BALANCE_LEVEL, ...LOOK }]);
      return looked.outcome === 'level-unknown' ? null : BigInt(looked.standings[0]?.used ?? 0);
    } catch (error) {
      log.debug('what calls in flight hold cannot be seen', { companyId, error });
      return null;
    }
  };
}
