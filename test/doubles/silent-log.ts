import type { Log } from '../../src/ports/log.ts';

/** A log for tests that are not about logging. */
export function createSilentLog(): Log {
  const log: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
  return log;
}
