import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { type CipherFailure, createCipher } from './cipher.ts';

const secrets = createSystemSecrets();
const cipherUnder = (masterKey: string) => createCipher({ masterKeys: [masterKey], secrets });
const cipher = cipherUnder('a master key of more than thirty-two characters');
const ADDRESS = 'https://provider.example/v1';
const KEY = 'sk-provider-0123456789';

async function failure(opening: Promise<string>): Promise<CipherFailure> {
  const opened = await opening.then(
    (text) => text,
    (error: CipherFailure) => error,
  );
  if (typeof opened === 'string') throw new Error('it was opened');
  return opened;
}

describe('the cipher of providers’ keys', () => {
  test('decrypts to the same text, for any length and characters', async () => {
    for (const text of [KEY, '', 'é€😀', 'x'.repeat(4_096)]) {
      expect(await cipher.decrypt(await cipher.encrypt(text, ADDRESS), ADDRESS)).toBe(text);
    }
    const elsewhere = cipherUnder('a master key of more than thirty-two characters');
    expect(await elsewhere.decrypt(await cipher.encrypt(KEY, ADDRESS), ADDRESS)).toBe(KEY);
  });

  test('never returns the same bytes twice, nor the plain text in them', async () => {
    const one = await cipher.encrypt(KEY, ADDRESS);
    const other = await cipher.encrypt(KEY, ADDRESS);
    expect(one.toHex()).not.toBe(other.toHex());
    expect(one[0]).toBe(1);
    expect(one).toHaveLength(1 + 4 + 12 + KEY.length + 16);
    expect(new TextDecoder().decode(one)).not.toContain('provider');
  });

  test('under another master key it fails, with the name of the wrong setting', async () => {
    const sealed = await cipher.encrypt(KEY, ADDRESS);
    const failed = await failure(
      cipherUnder('another master key, just as long as it').decrypt(sealed, ADDRESS),
    );
    expect(failed).toMatchObject({ name: 'CipherFailure', reason: 'another-master-key' });
    expect(failed.message).toContain('MASTER_KEY');
    expect(`${failed.message}${failed.stack}`).not.toContain(KEY);
  });

  test('it cannot be decrypted for another address, so a key cannot be sent elsewhere', async () => {
    const sealed = await cipher.encrypt(KEY, ADDRESS);
    const failed = await failure(cipher.decrypt(sealed, 'https://thief.example/v1'));
    expect(failed).toMatchObject({ name: 'CipherFailure', reason: 'damaged' });
    expect(failed.message).toContain('MASTER_KEY');
  });

  test('with any one byte changed or cut off it cannot be decrypted', async () => {
    const sealed = await cipher.encrypt(KEY, ADDRESS);
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = sealed.slice();
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect((await failure(cipher.decrypt(changed, ADDRESS))).name).toBe('CipherFailure');
      expect((await failure(cipher.decrypt(sealed.subarray(0, at), ADDRESS))).name).toBe('CipherFailure');
    }
  });
});
