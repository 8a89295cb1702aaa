/** What this machine or process lacks for a connection. */
export type LocalFault = 'descriptors' | 'ports' | 'memory';

/**
 * Tells faults of this process and its machine from those of the services that it calls: a process without free
 * descriptors cannot connect to a provider, and reports that as if the provider had refused.
 */
export interface LocalFaults {
  /**
   * The local fault that explains why a connection or a look-up failed; null if it is the other side's. Called after
   * failures only. What it finds is counted, and logged at most once a minute.
   */
  explain(error: unknown): LocalFault | null;
  /** Whether the process had no free descriptors a moment ago. A field is read, so it may be asked for every call. */
  lacksDescriptors(): boolean;
  /** Whether this many descriptors are free. The runtime ends the process if a thread starts without them. */
  hasDescriptors(count: number): boolean;
  counts(): Readonly<Record<LocalFault, number>>;
}

/** A thread takes about ten for its event loop and the files of its program. */
export const THREAD_DESCRIPTORS = 32;
