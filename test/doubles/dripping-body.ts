import type { UpstreamBody } from '../../src/ports/model-upstream.ts';

/** A slow body: `first` at once, then `piece` every `everyMs`, 30 times; and the clock by which it does. */
export function drippingBody(everyMs: number, first: string[] = [], piece = ' ') {
  const encoder = new TextEncoder();
  const soon = [...first];
  let left = 30;
  let uptimeMs = 0;
  const body: UpstreamBody = {
    read(idleMs) {
      const next = soon.shift();
      if (next !== undefined) return encoder.encode(next);
      if (left === 0) return null;
      left -= 1;
      uptimeMs += Math.min(idleMs, everyMs);
      return idleMs < everyMs ? 'idle' : encoder.encode(piece);
    },
    cancel() {},
  };
  return { body, clock: { uptimeMs: () => uptimeMs } };
}
