import type { UpstreamBody } from '../../src/ports/model-upstream.ts';

/** A body without end that has one byte every `everyMs`, and the clock by which it does. */
export function drippingBody(everyMs: number) {
  let uptimeMs = 0;
  const body: UpstreamBody = {
    read(idleMs) {
      uptimeMs += Math.min(idleMs, everyMs);
      return idleMs < everyMs ? 'idle' : new Uint8Array([0x20]);
    },
    cancel() {},
  };
  return { body, clock: { uptimeMs: () => uptimeMs } };
}
