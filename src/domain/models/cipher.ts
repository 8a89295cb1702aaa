import type { Secrets } from '../../ports/secrets.ts';

/**
 * Encrypts provider keys at rest: AES-256-GCM under a key that HKDF-SHA-256 derives from MASTER_KEY. Each ciphertext is
 * bound to a text (the address that the key is for): write access to the database without the master key allows neither
 * reading a key nor sending it to another address.
 *
 * Format: the version (1), 4 bytes that identify the master key, a nonce of 12 bytes, then the ciphertext with its tag.
 * Random nonces of 96 bits are safe for 2^32 encryptions under one key; there are a few per year.
 */
export interface Cipher {
  encrypt(text: string, boundTo: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Rejects with a CipherFailure. */
  decrypt(bytes: Uint8Array, boundTo: string): Promise<string>;
}

/** An Error whose message names MASTER_KEY and what to do, and reveals nothing of what was encrypted. */
export interface CipherFailure extends Error {
  readonly name: 'CipherFailure';
  readonly reason: 'another-master-key' | 'damaged';
}

const VERSION = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + KEY_ID_BYTES;

interface DerivedKeys {
  readonly sealing: CryptoKey;
  /** Distinguishes a wrong master key from damaged bytes. 32 bits of a separate derivation reveal nothing. */
  readonly id: Uint8Array;
}

interface CipherParts {
  /**
   * Each at least 32 random characters: HKDF derives a key but does not strengthen a weak one. The first encrypts; all
   * of them decrypt.
   */
  readonly masterKeys: readonly [string, ...string[]];
  readonly secrets: Secrets;
}

export function createCipher({ masterKeys, secrets }: CipherParts): Cipher {
  const derived = new Map<string, Promise<DerivedKeys>>();
  const keysOf = (masterKey: string) => {
    const keys = derived.get(masterKey) ?? deriveKeys(masterKey);
    derived.set(masterKey, keys);
    return keys;
  };
  /** Null if none of the master keys encrypted it. */
  async function sealerOf(bytes: Uint8Array): Promise<CryptoKey | null> {
    for (const masterKey of masterKeys) {
      const { id, sealing } = await keysOf(masterKey);
      if (id.every((byte, at) => bytes[1 + at] === byte)) return sealing;
    }
    return null;
  }
  return {
    async encrypt(text, boundTo) {
      const { sealing, id } = await keysOf(masterKeys[0]);
      const nonce = secrets.randomBytes(NONCE_BYTES);
      const sealed = await crypto.subtle.encrypt(sealedWith(nonce, boundTo), sealing, utf8(text));
      const bytes = new Uint8Array(HEAD_BYTES + NONCE_BYTES + sealed.byteLength);
      bytes[0] = VERSION;
      bytes.set(id, 1);
      bytes.set(nonce, HEAD_BYTES);
      bytes.set(new Uint8Array(sealed), HEAD_BYTES + NONCE_BYTES);
      return bytes;
    },

    async decrypt(given, boundTo) {
      const bytes = new Uint8Array(given);
      if (bytes[0] !== VERSION || bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES) throw damaged();
      const sealing = await sealerOf(bytes);
      if (sealing === null) throw anotherMasterKey();
      const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
      const sealed = bytes.subarray(HEAD_BYTES + NONCE_BYTES);
      try {
        const text = await crypto.subtle.decrypt(sealedWith(nonce, boundTo), sealing, sealed);
        return new TextDecoder().decode(text);
      } catch {
        throw damaged();
      }
    },
  };
}

/** The ids of master keys as they are stored with what was encrypted, in hexadecimal digits. */
export async function masterKeyIds(masterKeys: readonly string[]): Promise<readonly string[]> {
  return await Promise.all(masterKeys.map(async (masterKey) => (await deriveKeys(masterKey)).id.toHex()));
}

async function deriveKeys(masterKey: string): Promise<DerivedKeys> {
  const material = await crypto.subtle.importKey('raw', utf8(masterKey), 'HKDF', false, [
    'deriveKey',
    'deriveBits',
  ]);
  const derivation = (purpose: string) => {
    return { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: utf8(purpose) };
  };
  const aes = { name: 'AES-GCM', length: 256 };
  const uses: KeyUsage[] = ['encrypt', 'decrypt'];
  const sealing = derivation('turnpike: provider keys at rest, version 1');
  const id = derivation('turnpike: which master key it is, version 1');
  return {
    sealing: await crypto.subtle.deriveKey(sealing, material, aes, false, uses),
    id: new Uint8Array(await crypto.subtle.deriveBits(id, material, 8 * KEY_ID_BYTES)),
  };
}

function sealedWith(nonce: Uint8Array<ArrayBuffer>, boundTo: string): AesGcmParams {
  return { name: 'AES-GCM', iv: nonce, additionalData: utf8(boundTo) };
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function anotherMasterKey(): CipherFailure {
  return cipherFailure(
    'another-master-key',
    'a provider key was encrypted under another MASTER_KEY: give this process that one, or set the alias again',
  );
}

function damaged(): CipherFailure {
  return cipherFailure(
    'damaged',
    'a provider key does not open under MASTER_KEY: its bytes or its address were changed; set the alias again',
  );
}

function cipherFailure(reason: CipherFailure['reason'], message: string): CipherFailure {
  return Object.assign(new Error(message), { name: 'CipherFailure' as const, reason });
}
