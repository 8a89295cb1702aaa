/** Randomness and the slow hash: what must be unpredictable in the product and predictable in a test. */
export interface Secrets {
  randomBytes(count: number): Uint8Array<ArrayBuffer>;
  /** argon2id, with its parameters and salt inside the result. */
  hashPassword(password: string): Promise<string>;
  verifyPassword(password: string, hash: string): Promise<boolean>;
}
