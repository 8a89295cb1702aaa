import type { SharedState } from '../../ports/shared-state.ts';

/** Shared state that could not be opened, for a process that works without it: every use fails, as during an outage. */
export function createUnavailableState(failure: Error): SharedState {
  const fail = () => Promise.reject(failure);
  return {
    ...{ reserve: fail, settle: fail },
    ...{ get: fail, set: fail, setIfAbsent: fail, delete: fail },
    ...{ publish: fail, listeners: fail, subscribe: fail, check: fail },
    async close() {},
  };
}
