import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import { createCipher } from '../models/cipher.ts';
import {
  beginTotp,
  confirmTotp,
  countRecoveryCodes,
  hasTotp,
  rememberStepUp,
  removeTotp,
  resealTotp,
  spendCode,
  totpCode,
} from './two-factor.ts';
import { addUser } from './user.ts';

const secrets = createSystemSecrets();
const clock = createManualClock(Date.UTC(2030, 0, 1, 0, 0, 10));
const under = (...masterKeys: [string, ...string[]]) => createCipher({ masterKeys, secrets });
const [OLD, NEW] = ['the master key of these tests, long enough', 'another master key, which is as long'];
const parts = { clock, secrets, cipher: under(OLD) };
const database = useDatabase();

const step = (away = 0) => Math.floor(clock.now() / 30_000) + away;

async function person(on: Database = database) {
  const id = secrets.newId();
  const user = {
    id,
    email: `p${id}@people.example`,
    companyId: null,
    role: 'MEMBER',
    isSuperAdmin: true,
  } as const;
  await addUser(
    on,
    { ...secrets, hashPassword: async () => 'none' },
    { ...user, password: 'tall ladders at noon' },
  );
  return user;
}

async function setUp(on: Database = database) {
  const user = await person(on);
  const begun = await beginTotp(parts, on, user);
  const secret = begun?.secret ?? '';
  const code = await totpCode(secret, step());
  const confirmed = await on.transaction((within) => confirmTotp(parts, within, user.id, code));
  if (confirmed.outcome !== 'confirmed') throw new Error(confirmed.outcome);
  return { user, secret, recoveryCodes: confirmed.recoveryCodes };
}

describe('two-factor authentication', () => {
  test('codes match RFC 6238, appendix B, cut to six digits', async () => {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    const vectors = [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ] as const;
    for (const [seconds, code] of vectors)
      expect(await totpCode(secret, Math.floor(seconds / 30))).toBe(code);
  });

  test('a secret has 160 bits, and its address has the format of authenticator apps', async () => {
    const user = await person();
    const begun = await beginTotp(parts, database, user);
    expect(begun?.secret).toMatch(/^[A-Z2-7]{32}$/);
    const url = new URL(begun?.otpauthUrl ?? '');
    expect(url.protocol).toBe('otpauth:');
    expect(decodeURIComponent(url.pathname)).toEndWith(`Turnpike:${user.email}`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      secret: begun?.secret ?? '',
      issuer: 'Turnpike',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });

  test('an unconfirmed secret requires nothing and is replaced; a confirmed one is not', async () => {
    const user = await person();
    await beginTotp(parts, database, user);
    expect(await hasTotp(database, user.id)).toBe(false);
    expect(await beginTotp(parts, database, user)).not.toBeNull();
    const { user: other } = await setUp();
    expect(await hasTotp(database, other.id)).toBe(true);
    expect(await beginTotp(parts, database, other)).toBeNull();
  });

  test('a code is valid one step early and one late, not two', async () => {
    for (const [away, taken] of [
      [-2, null],
      [-1, 'totp'],
      [1, 'totp'],
      [2, null],
    ] as const) {
      const { user, secret } = await setUp();
      expect(await spendCode(parts, database, user.id, await totpCode(secret, step(away)))).toBe(taken);
    }
  });

  test('a code and all earlier ones are invalid after its use; of twenty concurrent uses one succeeds', async () => {
    const { user, secret } = await setUp();
    const code = await totpCode(secret, step());
    const uses = await Promise.all(
      Array.from({ length: 20 }, () => spendCode(parts, database, user.id, code)),
    );
    expect(uses.filter((use) => use === 'totp')).toHaveLength(1);
    expect(await spendCode(parts, database, user.id, await totpCode(secret, step(-1)))).toBeNull();
    expect(await spendCode(parts, database, user.id, await totpCode(secret, step(1)))).toBe('totp');
  });

  test('a recovery code is valid once, in any notation, and for its owner alone', async () => {
    const { user, recoveryCodes } = await setUp();
    const { user: other } = await setUp();
    expect(new Set(recoveryCodes).size).toBe(10);
    const [first = '', second = ''] = recoveryCodes;
    expect(first).toMatch(/^[a-z2-7]{4}(?:-[a-z2-7]{4}){3}$/);
    expect(await spendCode(parts, database, other.id, first)).toBeNull();
    expect(await spendCode(parts, database, user.id, ` ${first.replaceAll('-', '').toUpperCase()} `)).toBe(
      'recovery',
    );
    expect(await spendCode(parts, database, user.id, first)).toBeNull();
    const both = await Promise.all([1, 2].map(() => spendCode(parts, database, user.id, second)));
    expect(both.filter((use) => use === 'recovery')).toHaveLength(1);
    expect(await countRecoveryCodes(database, user.id)).toBe(8);
  });

  test('neither the secret nor a recovery code is readable in the database, and a moved secret cannot be decrypted', async () => {
    const { user, secret, recoveryCodes } = await setUp();
    const { user: other } = await setUp();
    const rows = JSON.stringify([
      await database.query('select * from totp_recovery_codes'),
      await database.query("select encode(sealed, 'escape') as sealed from totp_secrets"),
    ]);
    for (const text of [secret, ...recoveryCodes]) expect(rows).not.toContain(text);
    await database.query(
      'update totp_secrets set sealed = (select sealed from totp_secrets where user_id = $1) where user_id = $2',
      [other.id, user.id],
    );
    await expect(spendCode(parts, database, user.id, '123456')).rejects.toMatchObject({
      name: 'CipherFailure',
    });
    await database.transaction((within) => removeTotp(within, user.id));
  });

  test('after a rotation of the master key secrets decrypt under the new one, and those of a lost key are named', async () => {
    const { user, secret } = await setUp();
    expect((await resealTotp(database, under(NEW, OLD))).unreadable).toEqual([]);
    const renewed = { ...parts, cipher: under(NEW) };
    expect(await spendCode(renewed, database, user.id, await totpCode(secret, step()))).toBe('totp');
    const { unreadable } = await resealTotp(database, under(OLD));
    expect(unreadable).toContain(user.id);
  });
});

describePostgres('two-factor authentication that is reset while its owner uses a code', () => {
  const servers = usePostgres();
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

  test('neither deadlocks: the code counts, then everything is removed', async () => {
    for (const use of ['totp', 'recovery'] as const) {
      const { user, secret, recoveryCodes } = await setUp(servers);
      const grant = { userId: user.id, sessionId: null, token: use };
      await rememberStepUp(parts, servers, grant);
      const code = use === 'totp' ? await totpCode(secret, step()) : (recoveryCodes[0] ?? '');
      const { reset } = await servers.transaction(async (within) => {
        // The lock that the use of a code begins with.
        await within.query('select 1 from totp_secrets where user_id = $1 for update', [user.id]);
        const reset = servers.transaction((other) => removeTotp(other, user.id));
        reset.catch(() => {});
        await until(async () => (await servers.query(waiting)).length > 0);
        expect(await spendCode(parts, within, user.id, code)).toBe(use);
        await rememberStepUp(parts, within, grant);
        return { reset };
      });
      expect(await reset).toBe(true);
      for (const table of ['totp_secrets', 'totp_recovery_codes', 'step_ups']) {
        expect(await servers.query(`select 1 from ${table} where user_id = $1`, [user.id])).toEqual([]);
      }
    }
  });
});
