/** Measurements of this process by the runtime. */
export interface ProcessFigures {
  readonly startedAtMs: number;
  readonly uptimeSeconds: number;
  /** On all cores, in user and system mode, since the start. */
  readonly cpuSeconds: number;
  readonly memory: {
    readonly residentBytes: number;
    readonly heapBytes: number;
    readonly externalBytes: number;
  };
  /** How late timers fired recently. A high value means that the event loop is blocked and all requests wait. */
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /** How often this process has detected that the database lost commits. */
  readonly databaseStepBacks: number;
}
