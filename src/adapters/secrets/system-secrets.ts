import type { Secrets } from '../../ports/secrets.ts';

const SHA256_BYTES = 32;
/** The most bytes that one call of getRandomValues fills. */
const RANDOM_CHUNK = 65_536;

/**
 * OWASP's first choice for argon2id: 19 MiB, two passes, one lane; 25 to 55 ms here. Bun's default uses 64 MiB, so a
 * few concurrent log-ins would need more memory than the rest of the process.
 */
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const;

export function createSystemSecrets(): Secrets {
  let nobodys: Promise<string> | null = null;
  return {
    randomBytes(count) {
      const bytes = new Uint8Array(count);
      for (let start = 0; start < count; start += RANDOM_CHUNK) {
        crypto.getRandomValues(bytes.subarray(start, start + RANDOM_CHUNK));
      }
      return bytes;
    },
    newId: () => Bun.randomUUIDv7(),
    sha256(value) {
      const digest = new Uint8Array(SHA256_BYTES);
      Bun.SHA256.hash(value, digest);
      return digest;
    },
    hashPassword: (password) => Bun.password.hash(password, ARGON2ID),
    async verifyPassword(password, hash) {
      try {
        if (hash !== null) return await Bun.password.verify(password, hash, 'argon2id');
        nobodys ??= Bun.password.hash(Bun.randomUUIDv7(), ARGON2ID);
        await Bun.password.verify(password, await nobodys, 'argon2id');
        return false;
      } catch {
        // Bun throws on a hash it cannot parse. Fails closed: a broken hash matches no password.
        return false;
      }
    },
  };
}
