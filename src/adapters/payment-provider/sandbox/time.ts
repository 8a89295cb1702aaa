import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { Courier } from './courier.ts';
import { doDueWork } from './money/due-work.ts';
import { prune } from './prune.ts';
import { readAhead, writeAhead } from './settings.ts';
import type { World } from './world.ts';

/** Renewals, expiries and retries: with real time by themselves, and at once when the clock is moved. */
export interface SandboxTime {
  begin(): void;
  /** Everything that becomes due on the way happens at its own moment, in order. */
  advance(seconds: number): Promise<{ readonly now: number; readonly steps: number }>;
  close(): Promise<void>;
}

interface TimeOptions {
  readonly world: World;
  readonly database: Database;
  readonly courier: Courier;
  readonly clock: Clock;
  readonly log: Log;
}

const LOOK_MS = 15_000;
const PRUNE_EVERY_LOOKS = 240;
/** What one look or one move does at most: a subscription by the day, moved by five years, is 3,650 steps. */
const MOST_STEPS = 10_000;

export function createSandboxTime({ world, database, courier, clock, log }: TimeOptions): SandboxTime {
  let timer: Timer | null = null;
  let looking: Promise<void> = Promise.resolve();
  let looks = 0;
  let isClosed = false;

  /** Each step is a change of its own; two that run at once do different steps. */
  async function catchUp(until: number): Promise<number> {
    let steps = 0;
    for (; steps < MOST_STEPS && !isClosed; steps += 1) {
      const next = await world.objects.nextDue(until);
      if (next === null) break;
      await world.change(
        async (turn) => {
          const due = await turn.objects.nextDue(next.dueAt);
          if (due !== null) await doDueWork(turn, due);
        },
        { at: next.dueAt },
      );
    }
    if (steps > 0) void courier.nudge();
    return steps;
  }

  async function look(): Promise<void> {
    try {
      await catchUp(await world.now());
      if (looks % PRUNE_EVERY_LOOKS === 0) await prune(database, clock.now(), await world.now());
      looks += 1;
    } catch (error) {
      if (!isClosed) log.warn('the payment sandbox could not do what is due', { error });
    }
    if (!isClosed) timer = clock.after(LOOK_MS, again);
  }

  function again(): void {
    looking = look();
  }

  return {
    begin: again,
    async advance(seconds) {
      const until = (await world.now()) + seconds;
      const steps = await catchUp(until);
      const now = await world.change(async (turn, statements) => {
        await writeAhead(statements, (await readAhead(statements)) + seconds);
        return turn.now + seconds;
      });
      return { now, steps };
    },
    async close() {
      isClosed = true;
      timer?.cancel();
      await looking;
    },
  };
}
