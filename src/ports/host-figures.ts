/** What the operating system tells of the machine, or of the container where it is limited. */
export interface HostFigures {
  readonly uptimeSeconds: number;
  readonly cpu: {
    readonly count: number;
    /** Of all cores since the machine started. */
    readonly busySeconds: number;
    readonly idleSeconds: number;
    /** Of all cores, 0 to 1, since the last look a second ago or longer. */
    readonly usedShare: number;
  };
  /** Processes that run or wait to: over 1, 5 and 15 minutes. */
  readonly loadAverage: readonly [one: number, five: number, fifteen: number];
  readonly memory: {
    readonly totalBytes: number;
    /** What programs can still get without swapping. */
    readonly availableBytes: number;
    /** Of the container; null where there is none. */
    readonly limitBytes: number | null;
  };
  /** Of the file system that DATA_DIR is on; null where it cannot be read. */
  readonly disk: { readonly totalBytes: number; readonly availableBytes: number } | null;
}
