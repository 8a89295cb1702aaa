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
