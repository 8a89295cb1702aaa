import type { Clock, Timer } from '../../src/ports/clock.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';

/** A process of the simulated world: what it does ends for good with its death. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  /** What its wall clock is ahead of the world's. */
  clockOffsetMs: number;
  /** Dies at so many requests to the outside from now on; null lives on. */
  dieAfter: { requests: number; when: 'before' | 'after' } | null;
  /** Runs at its death, before anything else happens. */
  onDeath(): void;
}

export function createOwner(name: string, onDeath: () => void = () => {}): Owner {
  return { name, isAlive: true, clockOffsetMs: 0, dieAfter: null, onDeath };
}

interface Turn {
  readonly atMs: number;
  readonly order: number;
  readonly owner: Owner;
  run: (() => void) | null;
}

/**
 * Time and turns of the simulated world, in one thread. Whatever waits for the outside is a turn with its moment; turns
 * run one after the other, and the next one only after everything that the one before set off has come to rest. So a
 * run depends on its seed alone.
 */
export interface Scheduler {
  nowMs(): number;
  steps(): number;
  /** Resolves at its turn; never where the owner dies before. */
  wait(owner: Owner, delayMs: number): Promise<void>;
  at(owner: Owner, delayMs: number, run: () => void): Timer;
  /** No turn runs until the returned function is called: for work of the runtime itself, such as a statement. */
  hold(): () => void;
  clockOf(owner: Owner): Clock;
  kill(owner: Owner): void;
  /** Runs all turns up to that moment. `afterStep` runs after each. */
  runUntil(untilMs: number, afterStep: () => Promise<void>): Promise<void>;
  /** Time passes and nothing happens meanwhile: turns that became due run late. */
  leap(ms: number): void;
}

export const NEVER: Promise<never> = new Promise(() => {});

export function createScheduler(startMs: number, random: SeededRandom): Scheduler {
  const heap: Turn[] = [];
  let nowMs = startMs;
  let steps = 0;
  let held = 0;
  let onRelease: (() => void) | null = null;

  function at(owner: Owner, delayMs: number, run: () => void): Timer {
    // Of two that are due at the same moment, chance decides.
    const turn: Turn = { atMs: nowMs + Math.max(0, delayMs), order: random.below(2 ** 30), owner, run };
    push(heap, turn);
    return {
      cancel: () => {
        turn.run = null;
      },
    };
  }
  function wait(owner: Owner, delayMs: number): Promise<void> {
    if (!owner.isAlive) return NEVER;
    return new Promise((resolve) => at(owner, delayMs, resolve));
  }
  async function rest(): Promise<void> {
    do {
      for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (held > 0) {
        await new Promise<void>((resolve) => {
          onRelease = resolve;
        });
      }
    } while (held > 0);
    await new Promise((resolve) => setImmediate(resolve));
    if (held > 0) await rest();
  }

  return {
    nowMs: () => nowMs,
    steps: () => steps,
    wait,
    at,
    hold() {
      held += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        if (held === 0) onRelease?.();
      };
    },
    clockOf: (owner) => ({
      now: () => Math.floor(nowMs + owner.clockOffsetMs),
      uptimeMs: () => nowMs - startMs,
      after: (delayMs, work) => (owner.isAlive ? at(owner, delayMs, work) : { cancel() {} }),
      turn: () => wait(owner, 0),
      sleep: (delayMs, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const timer = at(owner, delayMs, end);
          signal?.addEventListener('abort', end);
          function end() {
            timer.cancel();
            signal?.removeEventListener('abort', end);
            resolve();
          }
        }),
    }),
    kill(owner) {
      if (!owner.isAlive) return;
      owner.isAlive = false;
      owner.dieAfter = null;
      owner.onDeath();
    },
    async runUntil(untilMs, afterStep) {
      await rest();
      for (;;) {
        const next = heap[0];
        if (next === undefined || next.atMs > untilMs) break;
        pop(heap);
        if (next.run === null || !next.owner.isAlive) continue;
        nowMs = Math.max(nowMs, next.atMs);
        steps += 1;
        next.run();
        await rest();
        await afterStep();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
    leap(ms) {
      nowMs += ms;
    },
  };
}

function isBefore(one: Turn, other: Turn): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

function push(heap: Turn[], turn: Turn): void {
  let at = heap.push(turn) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] as Turn;
    if (!isBefore(turn, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = turn;
}

function pop(heap: Turn[]): void {
  const last = heap.pop() as Turn;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1] as Turn, heap[below] as Turn)) below += 1;
    const child = heap[below] as Turn;
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
