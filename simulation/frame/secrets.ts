import type { Clock } from '../../src/ports/clock.ts';
import type { Secrets } from '../../src/ports/secrets.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';

/** Randomness out of the seed. Ids are of version 7 by the process's own clock, as the runtime's are. */
export function createSimulatedSecrets(clock: Pick<Clock, 'now'>, random: SeededRandom): Secrets {
  let lastMs = 0;
  let counter = 0;
  const hex = (count: number) => random.text(count, '0123456789abcdef');
  return {
    randomBytes: (count) => Uint8Array.from({ length: count }, () => random.below(256)),
    newId() {
      const nowMs = clock.now();
      counter = nowMs === lastMs ? counter + 1 : 0;
      lastMs = nowMs;
      const time = nowMs.toString(16).padStart(12, '0');
      const order = (counter % 4096).toString(16).padStart(3, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}-7${order}-8${hex(3)}-${hex(12)}`;
    },
    sha256(text) {
      const digest = new Uint8Array(32);
      Bun.SHA256.hash(text, digest);
      return digest;
    },
    hashPassword: () => Promise.reject(new Error('sign-in is not simulated')),
    verifyPassword: async () => false,
  };
}
