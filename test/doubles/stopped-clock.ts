import type { Clock } from '../../src/ports/clock.ts';

/** A clock that stands still, for what brings an offset of its own: nothing set on it ever runs. */
export const stoppedClock: Clock = {
  now: () => 1_700_000_000_000,
  uptimeMs: () => 0,
  after: () => ({ cancel() {} }),
  turn: () => Promise.resolve(),
  sleep: () => new Promise(() => {}),
};
