import type { Clock } from '../../ports/clock.ts';

/** How many there were lately, by tenths of a second: a guess at how many there will be. */
export interface LatelyCounted {
  add(): void;
  perTenth(): number;
}

const TENTH_MS = 100;

export function createLatelyCounted(clock: Clock): LatelyCounted {
  let begunAtMs = 0;
  let now = 0;
  let before = 0;

  function moveOn(): void {
    const ageMs = clock.now() - begunAtMs;
    if (ageMs >= 0 && ageMs < TENTH_MS) return;
    before = ageMs >= 0 && ageMs < 2 * TENTH_MS ? now : 0;
    now = 0;
    begunAtMs = clock.now();
  }

  return {
    add() {
      moveOn();
      now += 1;
    },
    perTenth() {
      moveOn();
      return Math.max(now, before);
    },
  };
}
