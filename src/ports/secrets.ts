/** Randomness and password hashes: unpredictable in production, predictable in tests. */
export interface Secrets {
  randomBytes(count: number): Uint8Array<ArrayBuffer>;
  /** A UUID of version 7, which sorts by creation time. */
  newId(): string;
  /** A fast hash, for values that are already random, such as raw keys, and for files. */
  sha256(value: string | Uint8Array): Uint8Array<ArrayBuffer>;
  /** argon2id; the result contains its parameters and salt. */
  hashPassword(password: string): Promise<string>;
  /** Without a hash: false, after the same time, so that the time does not reveal whether the account exists. */
  verifyPassword(password: string, hash: string | null): Promise<boolean>;
}

/** The smallest id of a moment: `newId` begins with the milliseconds. */
export function leastIdAt(timeMs: number): string {
  const hex = Math.max(0, timeMs).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
