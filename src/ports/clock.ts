/** The source of time. Tests replace it, so that they do not wait for windows, breakers or expiries. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment in the past, for measuring: changes of the system clock do not affect it. */
  uptimeMs(): number;
  /** Runs `work` once, `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
  /** Resolves in the next turn of the event loop. */
  turn(): Promise<void>;
  /** Resolves after `delayMs`, or at once when `signal` aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  cancel(): void;
}

const DAY_LENGTH = 'YYYY-MM-DD'.length;

/** Whether a text that begins with YYYY-MM-DD names a day that exists. Date reads February 30 as a day of March. */
export function beginsWithDay(text: string): boolean {
  const day = text.slice(0, DAY_LENGTH);
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, DAY_LENGTH) === day;
}
