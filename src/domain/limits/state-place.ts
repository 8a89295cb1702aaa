import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Claim, Reservation, SharedState } from '../../ports/shared-state.ts';

export interface StatePlaceParts {
  readonly sharedState: SharedState;
  /** This process's own counters, for while shared state is away. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** The part of each limit that this process grants while it limits by itself, above 0 and at most 1. */
  readonly ownShare?: number;
}

export interface StatePlace {
  /** With the state it was reserved in: there it is settled. */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reserved>;
  /** Shared state is away, and this process limits by itself. */
  isAlone(): boolean;
}

export interface Reserved {
  readonly reservation: Reservation;
  readonly state: SharedState;
}

/** How long after a failure shared state is left alone: a paused server would hold up every call by its time-out. */
const LEFT_ALONE_MS = 1_000;

/**
 * Shared state, or while it is away this process's own, at its share of the limits. Fails to the process: serving goes
 * on; where the shares of all processes are more than one in sum, limits loosen by that much.
 */
export function createStatePlace(parts: StatePlaceParts): StatePlace {
  const { sharedState, ownState, clock, log, ownShare = 1 } = parts;
  let leftAloneUntil = 0;
  return {
    async reserve(tag, claims) {
      if (leftAloneUntil === 0 || clock.now() >= leftAloneUntil) {
        try {
          const reservation = await sharedState.reserve(tag, claims);
          if (leftAloneUntil !== 0) log.info('limits are kept by all processes together again');
          leftAloneUntil = 0;
          return { reservation, state: sharedState };
        } catch (error) {
          if (leftAloneUntil === 0)
            log.error('limits are kept by each process alone for now', { error, ownShare });
          leftAloneUntil = clock.now() + LEFT_ALONE_MS;
        }
      }
      const shared = ownShare === 1 ? claims : claims.map((claim) => shareOf(claim, ownShare));
      return { reservation: await ownState.reserve(tag, shared), state: ownState };
    },
    isAlone: () => leftAloneUntil !== 0,
  };
}

/** What is held against a level is the company's own money, of which every process knows all. */
function shareOf(claim: Claim, share: number): Claim {
  if (claim.kind === 'window') return { ...claim, limit: partOf(claim.limit, share) };
  return typeof claim.limit === 'number' ? { ...claim, limit: partOf(claim.limit, share) } : claim;
}

function partOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}
