/** Time comes through here, so that no test waits for a window, a breaker or an expiry. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `work` once, `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
  /** Resolves after `delayMs`, or at once when `signal` aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  cancel(): void;
}
