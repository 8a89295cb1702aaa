/** Randomness and the slow hash: what must be unpredictable in the product and predictable in a test. */
export interface Secrets {
  randomBytes(count: number): Uint8Array<ArrayBuffer>;
  /** A UUID that sorts by the time it was made (version 7). */
  newId(): string;
  /** Quick, for what is random already: raw keys. */
  sha256(text: string): Uint8Array<ArrayBuffer>;
  /** argon2id, with its parameters and salt inside the result. */
  hashPassword(password: string): Promise<string>;
  /** False for no hash, after the same time: how long it takes does not tell whether there is an account. */
  verifyPassword(password: string, hash: string | null): Promise<boolean>;
}
