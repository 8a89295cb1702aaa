import { expect, test } from 'bun:test';
import { createSystemSecrets } from './system-secrets.ts';

const secrets = createSystemSecrets();

test('random bytes have the requested length, also past what the system fills in one call', () => {
  expect(secrets.randomBytes(0)).toEqual(new Uint8Array(0));
  expect(secrets.randomBytes(32)).not.toEqual(secrets.randomBytes(32));
  const many = secrets.randomBytes(200_000);
  expect(many.length).toBe(200_000);
  for (let start = 0; start < many.length; start += 1_000) {
    expect(many.subarray(start, start + 1_000).some((byte) => byte !== 0)).toBe(true);
  }
});

test('ids are version 7 and sort by their creation time', () => {
  const ids = Array.from({ length: 50 }, () => secrets.newId());
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(50);
});

test('a password is hashed with argon2id and its own salt, and only it verifies', async () => {
  const hash = await secrets.hashPassword('correct horse');
  expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$');
  expect(await secrets.hashPassword('correct horse')).not.toBe(hash);
  expect(await secrets.verifyPassword('correct horse', hash)).toBe(true);
  expect(await secrets.verifyPassword('correct hors', hash)).toBe(false);
  expect(await secrets.verifyPassword('', hash)).toBe(false);
  expect(await secrets.verifyPassword('correct horse', null)).toBe(false);
});

test('an invalid or unsupported hash verifies nothing and does not throw', async () => {
  const bcrypt = await Bun.password.hash('pass', { algorithm: 'bcrypt', cost: 4 });
  for (const hash of ['', 'x', '$argon2id$v=19$m=1', bcrypt]) {
    expect(await secrets.verifyPassword('pass', hash)).toBe(false);
  }
});

test('sha256 matches the standard', () => {
  expect(secrets.sha256('abc').toHex()).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});
