/** Time comes through here, so that no test waits for a window, a breaker or an expiry. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment in the past, for measuring: changes of the system clock do not affect it. */
  uptimeMs(): number;
  /** Runs `work` once, `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
  /** Resolves once everything that is ready by now has had its turn: nothing waits for it but this. */
  turn(): Promise<void>;
  /** Resolves after `delayMs`, or at once when `signal` aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  cancel(): void;
}
