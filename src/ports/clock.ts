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
