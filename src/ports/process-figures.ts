/** What the runtime tells of this process. */
export interface ProcessFigures {
  readonly startedAtMs: number;
  readonly uptimeSeconds: number;
  /** Of all cores, in user and system mode, since the start. */
  readonly cpuSeconds: number;
  readonly memory: {
    readonly residentBytes: number;
    readonly heapBytes: number;
    readonly externalBytes: number;
  };
  /** How late timers came lately: while it is high, everybody waits. */
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /** How often this process has noticed that the database lost commits. */
  readonly databaseStepBacks: number;
}
