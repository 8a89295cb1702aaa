import type { Clock } from '../../ports/clock.ts';

/** A bounded number of places, and a bounded line of those who wait for one, for a bounded time. */
export interface WaitingPlaces {
  /** False where the line is full, or no place became free in time. Whoever has a place gives it back. */
  take(): Promise<boolean>;
  giveBack(): void;
  /** Those who wait get no place any more. */
  close(): void;
}

export interface PlaceBounds {
  readonly places: number;
  readonly maxWaiting: number;
  readonly waitMs: number;
}

export function createWaitingPlaces(
  clock: Clock,
  { places, maxWaiting, waitMs }: PlaceBounds,
): WaitingPlaces {
  // A Set keeps the order of insertion: first come, first served.
  const waiting = new Set<(hasPlace: boolean) => void>();
  let free = places;
  let isClosed = false;
  return {
    take() {
      if (isClosed) return Promise.resolve(false);
      if (free > 0) {
        free -= 1;
        return Promise.resolve(true);
      }
      if (waiting.size >= maxWaiting) return Promise.resolve(false);
      return new Promise((resolve) => {
        const end = (hasPlace: boolean) => {
          timer.cancel();
          waiting.delete(end);
          resolve(hasPlace);
        };
        const timer = clock.after(waitMs, () => end(false));
        waiting.add(end);
      });
    },
    giveBack() {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next(true);
    },
    close() {
      isClosed = true;
      for (const end of [...waiting]) end(false);
    },
  };
}
