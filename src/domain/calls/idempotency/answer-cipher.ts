import type { Secrets } from '../../../ports/secrets.ts';

/**
 * Encrypts stored answers, which are customers' text, at rest: AES-256-GCM under MASTER_KEY. Each answer has its own key,
 * which HKDF-SHA-256 derives with 32 random bytes, so that their number is not limited; the cipher of provider keys has one
 * key for all, with random nonces that are safe only for a small number.
 *
 * The bytes: the version (1), the 32 random bytes, then the ciphertext with its tag. A key that is used once needs no nonce.
 * A sealed answer is bound to a text and does not open with another one.
 */
export interface AnswerCipher {
  seal(answer: Uint8Array, boundTo: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Null if it does not open: another MASTER_KEY or `boundTo`, or changed bytes. */
  open(sealed: Uint8Array, boundTo: string): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Encrypts it again under the first master key; `current` if it is already under that key. */
  reseal(sealed: Uint8Array, boundTo: string): Promise<Uint8Array<ArrayBuffer> | 'current' | 'unreadable'>;
}

interface AnswerCipherParts {
  /** The first one seals; all of them open. */
  readonly masterKeys: readonly [string, ...string[]];
  readonly secrets: Pick<Secrets, 'randomBytes'>;
}

const VERSION = 1;
const SALT_BYTES = 32;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + SALT_BYTES;
const NONCE = new Uint8Array(12);
const PURPOSE = utf8('turnpike: stored answers at rest, version 1');

export function createAnswerCipher({ masterKeys, secrets }: AnswerCipherParts): AnswerCipher {
  const materials = new Map<string, Promise<CryptoKey>>();

  async function keyOf(masterKey: string, salt: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
    const material =
      materials.get(masterKey) ??
      crypto.subtle.importKey('raw', utf8(masterKey), 'HKDF', false, ['deriveKey']);
    materials.set(masterKey, material);
    const derivation = { name: 'HKDF', hash: 'SHA-256', salt, info: PURPOSE };
    const aes = { name: 'AES-GCM', length: 256 };
    return await crypto.subtle.deriveKey(derivation, await material, aes, false, ['encrypt', 'decrypt']);
  }

  async function openUnder(masterKey: string, given: Uint8Array, boundTo: string) {
    if (given[0] !== VERSION || given.length < HEAD_BYTES + TAG_BYTES) return null;
    const bytes = new Uint8Array(given);
    const key = await keyOf(masterKey, bytes.subarray(1, HEAD_BYTES));
    try {
      return new Uint8Array(await crypto.subtle.decrypt(gcm(boundTo), key, bytes.subarray(HEAD_BYTES)));
    } catch {
      // The tag does not match: sealed under another key, or changed.
      return null;
    }
  }

  const cipher: AnswerCipher = {
    async seal(answer, boundTo) {
      const salt = secrets.randomBytes(SALT_BYTES);
      const sealed = await crypto.subtle.encrypt(
        gcm(boundTo),
        await keyOf(masterKeys[0], salt),
        answer as Uint8Array<ArrayBuffer>,
      );
      const bytes = new Uint8Array(HEAD_BYTES + sealed.byteLength);
      bytes[0] = VERSION;
      bytes.set(salt, 1);
      bytes.set(new Uint8Array(sealed), HEAD_BYTES);
      return bytes;
    },
    async open(sealed, boundTo) {
      for (const masterKey of masterKeys) {
        const opened = await openUnder(masterKey, sealed, boundTo);
        if (opened !== null) return opened;
      }
      return null;
    },
    async reseal(sealed, boundTo) {
      if ((await openUnder(masterKeys[0], sealed, boundTo)) !== null) return 'current';
      const opened = await cipher.open(sealed, boundTo);
      return opened === null ? 'unreadable' : await cipher.seal(opened, boundTo);
    },
  };
  return cipher;
}

function gcm(boundTo: string): AesGcmParams {
  return { name: 'AES-GCM', iv: NONCE, additionalData: utf8(boundTo) };
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
