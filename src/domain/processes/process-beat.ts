import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { forgetGoneProcesses, forgetProcess, TELL_MS, tellProcess } from './process-board.ts';
import type { ProcessName, ProcessReport } from './process-report.ts';

export interface ProcessBeatParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
  readonly name: ProcessName;
  /** How this process is now. */
  report(): Promise<ProcessReport>;
}

export interface ProcessBeat {
  /** Takes the row away: who ends in order is not missed. */
  close(): Promise<void>;
}

const CLOSE_WITHIN_MS = 2_000;
const MOST_BREAKERS = 200;
const MOST_QUEUES = 100;

/**
 * Tells of this process every few seconds for as long as it runs. The first time is not waited for: a process that
 * cannot tell of itself still does its work.
 */
export function startProcessBeat({ database, clock, log, name, report }: ProcessBeatParts): ProcessBeat {
  let timer: Timer | null = null;
  let isClosed = false;
  let isAway = false;
  let telling = beat();

  async function tell(): Promise<void> {
    const told = await report();
    const bounded = {
      ...told,
      breakers: firstOf(told.breakers, MOST_BREAKERS),
      jobRates: firstOf(told.jobRates, MOST_QUEUES),
    };
    await tellProcess(database, name, bounded, clock.now());
    await forgetGoneProcesses(database, clock.now());
  }

  async function beat(): Promise<void> {
    try {
      await tell();
      if (isAway) log.info('this process tells of itself again');
      isAway = false;
    } catch (error) {
      if (!isAway && !isClosed)
        log.warn('this process cannot tell of itself: it may be shown as stale', { error });
      isAway = true;
    }
    if (isClosed) return;
    timer = clock.after(TELL_MS, () => {
      telling = beat();
    });
  }

  return {
    async close() {
      isClosed = true;
      timer?.cancel();
      const ended = new AbortController();
      const forget = async () => {
        await telling;
        await forgetProcess(database, name.id);
      };
      // The row grows old by itself where the database is away: a process does not outlive its deadline for that.
      await Promise.race([forget().catch(() => undefined), clock.sleep(CLOSE_WITHIN_MS, ended.signal)]);
      ended.abort();
    },
  };
}

function firstOf<Value>(all: Readonly<Record<string, Value>>, most: number): Record<string, Value> {
  return Object.fromEntries(Object.entries(all).slice(0, most));
}
