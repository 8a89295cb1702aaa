import type { AliasTarget } from '../aliases.ts';

/**
 * Calls in flight in this process, for targets with a limit (`max_in_flight`): from before a call is sent until its
 * answer has ended. Targets without a limit are not counted.
 */
export interface TargetFlights {
  /** False if the target is at its limit; it is then skipped. */
  enter(target: AliasTarget): boolean;
  leave(target: AliasTarget): void;
}

export function createTargetFlights(): TargetFlights {
  const flights = new Map<string, number>();
  return {
    enter({ id, maxInFlight }) {
      if (maxInFlight === undefined) return true;
      const running = flights.get(id) ?? 0;
      if (running >= maxInFlight) return false;
      flights.set(id, running + 1);
      return true;
    },
    leave({ id, maxInFlight }) {
      if (maxInFlight === undefined) return;
      const left = (flights.get(id) ?? 0) - 1;
      // A replaced target is forgotten with its last call.
      if (left > 0) flights.set(id, left);
      else flights.delete(id);
    },
  };
}
