import type { SeededRandom } from '../../test/doubles/seeded-random.ts';

interface Simulated {
  readonly nowMs: () => number;
  readonly random: SeededRandom;
  readonly fetch: (request: Request) => Promise<Response>;
}

/**
 * What the runtime and libraries reach without a port, for as long as a simulation runs: the embedded PostgreSQL reads
 * its time and its random bytes here, the payment provider's client calls fetch, and digests come from a thread.
 * Returns how all of it is put back.
 */
export function replaceGlobals({ nowMs, random, fetch: simulatedFetch }: Simulated): () => void {
  const before = {
    now: Date.now,
    random: Math.random,
    fetch: globalThis.fetch,
    setTimeout: globalThis.setTimeout,
    digest: crypto.subtle.digest,
    randomValues: crypto.getRandomValues,
  };
  Date.now = () => Math.floor(nowMs());
  Math.random = () => random.below(2 ** 30) / 2 ** 30;
  // The database's own timers and the time-outs of the provider's client: here nothing takes real time.
  globalThis.setTimeout = Object.assign(() => 0, { __promisify__: null }) as unknown as typeof setTimeout;
  globalThis.fetch = Object.assign(
    (input: string | URL | Request, init?: RequestInit) => simulatedFetch(new Request(input, init)),
    { preconnect: () => {} },
  ) as typeof fetch;
  crypto.subtle.digest = async (_name, data) => {
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : data;
    return new Bun.CryptoHasher('sha256').update(bytes).digest().buffer as ArrayBuffer;
  };
  crypto.getRandomValues = <T extends ArrayBufferView | null>(array: T): T => {
    const bytes = new Uint8Array(
      (array as ArrayBufferView).buffer,
      (array as ArrayBufferView).byteOffset,
      (array as ArrayBufferView).byteLength,
    );
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = random.below(256);
    return array;
  };
  return () => {
    Date.now = before.now;
    Math.random = before.random;
    globalThis.fetch = before.fetch;
    globalThis.setTimeout = before.setTimeout;
    crypto.subtle.digest = before.digest;
    crypto.getRandomValues = before.randomValues;
  };
}
