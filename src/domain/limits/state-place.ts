import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Claim, Reservation, SharedState } from '../../ports/shared-state.ts';

export interface StatePlaceParts {
  readonly sharedState: SharedState;
  /** This process's own counters, for while shared state is away. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StatePlace {
  /** With the state it was reserved in: there it is settled. */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reserved>;
}

export interface Reserved {
  readonly reservation: Reservation;
  readonly state: SharedState;
}

/** How long after a failure shared state is left alone: a paused server would hold up every call by its time-out. */
const LEFT_ALONE_MS = 1_000;

/** Shared state, or while it is away this process's own. Fails to the process: serving goes on, limits loosen. */
export function createStatePlace({ sharedState, ownState, clock, log }: StatePlaceParts): StatePlace {
  let leftAloneUntil = 0;
  return {
    async reserve(tag, claims) {
      if (leftAloneUntil === 0 || clock.now() >= leftAloneUntil) {
        try {
          const reservation = await sharedState.reserve(tag, claims);
          leftAloneUntil = 0;
          return { reservation, state: sharedState };
        } catch (error) {
          if (leftAloneUntil === 0) log.error('limits are kept by each process alone for now', { error });
          leftAloneUntil = clock.now() + LEFT_ALONE_MS;
        }
      }
      return { reservation: await ownState.reserve(tag, claims), state: ownState };
    },
  };
}
