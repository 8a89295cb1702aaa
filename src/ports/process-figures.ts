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

/** Measurements of the machine, or of the container if it has limits, by the operating system. */
export interface HostFigures {
  readonly uptimeSeconds: number;
  readonly cpu: {
    readonly count: number;
    /** On all cores since the machine started. */
    readonly busySeconds: number;
    readonly idleSeconds: number;
    /** Utilization of all cores, 0 to 1, since the last measurement at least a second ago. */
    readonly usedShare: number;
  };
  /** The load averages of 1, 5 and 15 minutes. */
  readonly loadAverage: readonly [one: number, five: number, fifteen: number];
  readonly memory: {
    readonly totalBytes: number;
    /** What is available to programs without swapping. */
    readonly availableBytes: number;
    /** Of the container; null outside of one. */
    readonly limitBytes: number | null;
  };
  /** Of the file system that DATA_DIR is on; null where it cannot be read. */
  readonly disk: { readonly totalBytes: number; readonly availableBytes: number } | null;
}
