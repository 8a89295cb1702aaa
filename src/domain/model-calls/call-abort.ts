import type { EndSignal } from '../../ports/model-upstream.ts';

/** Ends one call of an upstream from our side. */
export interface CallAbort extends EndSignal {
  abort(): void;
}

/** An AbortController with its signal and one listener costs a call 2 to 3 µs; this costs 0.05. */
class OwnAbort implements CallAbort {
  aborted = false;
  // A call has one listener at a time, rarely two.
  readonly #listeners: (() => void)[] = [];

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** Bound, because it is itself used as a listener of other signals. */
  readonly abort = (): void => {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  };
}

export function createCallAbort(): CallAbort {
  return new OwnAbort();
}
