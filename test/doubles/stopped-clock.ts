import type { Clock } from '../../src/ports/clock.ts';

/** A clock that does not move, for code with an offset of its own: no timer set on it ever runs. */
export const stoppedClock: Clock = {
  now: () => 1_700_000_000_000,
  uptimeMs: () => 0,
  after: () => ({ cancel() {} }),
  turn: () => Promise.resolve(),
  sleep: () => new Promise(() => {}),
};
