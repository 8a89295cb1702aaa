import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';

/**
 * Two-factor authentication by TOTP (RFC 6238: SHA-1, 30 seconds, six digits, which all authenticator apps support). A
 * secret is unconfirmed until its first code was entered; only a confirmed one is required.
 *
 * A code is valid in its own step and one step before and after, because clocks differ. Using it invalidates it and all
 * earlier ones: the step of the last used code only grows, in one statement. The code that confirms a secret stays
 * valid: confirming grants no access, and the user can sign in with it at once.
 */
interface TwoFactorParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly cipher: SecretCipher;
}

/** Encrypts with MASTER_KEY; what was encrypted for one user cannot be decrypted for another. */
interface SecretCipher {
  encrypt(text: string, boundTo: string): Promise<Uint8Array>;
  decrypt(bytes: Uint8Array, boundTo: string): Promise<string>;
}

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
const DIGITS = 6;
const STEPS_AROUND = 1;
const ISSUER = 'Turnpike';
const RECOVERY_CODES = 10;
/** 80 bits: too many to guess, so a fast hash is enough. */
const RECOVERY_BYTES = 10;
/** How long a recent code is accepted for operations that require one. */
const STEP_UP_MS = 10 * 60 * 1000;

interface BegunTotp {
  /** In base32, to be typed without a camera. */
  readonly secret: string;
  readonly otpauthUrl: string;
}

/** Null if a confirmed secret exists: it must be disabled first. An unconfirmed one is replaced. */
export async function beginTotp(
  { clock, secrets, cipher }: TwoFactorParts,
  statements: Statements,
  user: { readonly id: string; readonly email: string },
): Promise<BegunTotp | null> {
  const secret = toBase32(secrets.randomBytes(SECRET_BYTES));
  const sealed = await cipher.encrypt(secret, boundTo(user.id));
  const rows = await statements.query(
    `insert into totp_secrets (user_id, sealed, created_at) values ($1, $2, $3)
     on conflict (user_id) do update set sealed = excluded.sealed, created_at = excluded.created_at
     where totp_secrets.confirmed_at is null returning user_id`,
    [user.id, sealed, new Date(clock.now())],
  );
  if (rows.length === 0) return null;
  const label = `${ISSUER}:${encodeURIComponent(user.email)}`;
  const settings = `issuer=${ISSUER}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`;
  return { secret, otpauthUrl: `otpauth://totp/${label}?secret=${secret}&${settings}` };
}

type ConfirmedTotp =
  | { readonly outcome: 'confirmed'; readonly recoveryCodes: readonly string[] }
  | { readonly outcome: 'wrong-code' }
  /** Nothing was started, or it is already confirmed. */
  | { readonly outcome: 'nothing-to-confirm' };

export async function confirmTotp(
  parts: TwoFactorParts,
  transaction: Transaction,
  userId: string,
  code: string,
): Promise<ConfirmedTotp> {
  const found = await findSecret(parts, transaction, userId, { isConfirmed: false });
  if (found === null) return { outcome: 'nothing-to-confirm' };
  if ((await stepOf(parts, found.secret, code)) === null) return { outcome: 'wrong-code' };
  await transaction.query('update totp_secrets set confirmed_at = $2 where user_id = $1', [
    userId,
    new Date(parts.clock.now()),
  ]);
  return { outcome: 'confirmed', recoveryCodes: await generateRecoveryCodes(parts, transaction, userId) };
}

export async function hasTotp(statements: Statements, userId: string): Promise<boolean> {
  const rows = await statements.query(
    'select 1 from totp_secrets where user_id = $1 and confirmed_at is not null',
    [userId],
  );
  return rows.length > 0;
}

/** A code of the user's device, or one of their recovery codes; either can be used once. */
export async function spendCode(
  parts: TwoFactorParts,
  statements: Statements,
  userId: string,
  code: string,
): Promise<'totp' | 'recovery' | null> {
  const found = await findSecret(parts, statements, userId, { isConfirmed: true });
  if (found === null) return null;
  const step = await stepOf(parts, found.secret, code);
  if (step !== null) {
    const spent = await statements.query(
      'update totp_secrets set last_step = $2 where user_id = $1 and last_step < $2 returning user_id',
      [userId, BigInt(step)],
    );
    return spent.length > 0 ? 'totp' : null;
  }
  const used = await statements.query(
    `update totp_recovery_codes set used_at = $3
     where user_id = $1 and code_sha256 = $2 and used_at is null returning user_id`,
    [userId, hashOf(parts.secrets, userId, code), new Date(parts.clock.now())],
  );
  return used.length > 0 ? 'recovery' : null;
}

/** Creates a new set; all earlier codes become invalid, used or not. */
export async function generateRecoveryCodes(
  { secrets }: Pick<TwoFactorParts, 'secrets'>,
  transaction: Transaction,
  userId: string,
): Promise<readonly string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    const letters = toBase32(secrets.randomBytes(RECOVERY_BYTES)).toLowerCase();
    return letters.match(/.{4}/g)?.join('-') ?? letters;
  });
  await transaction.query('delete from totp_recovery_codes where user_id = $1', [userId]);
  await transaction.query(
    `insert into totp_recovery_codes (user_id, code_sha256) select $1, decode(hash, 'hex') from unnest($2::text[]) as hash`,
    [userId, codes.map((code) => hashOf(secrets, userId, code).toHex())],
  );
  return codes;
}

export async function countRecoveryCodes(statements: Statements, userId: string): Promise<number> {
  const rows = await statements.query<{ left: bigint }>(
    'select count(*) as left from totp_recovery_codes where user_id = $1 and used_at is null',
    [userId],
  );
  return Number(rows[0]?.left ?? 0n);
}

/**
 * Removes the secret, the recovery codes and every step-up. False if there was no secret. The secret is first, because
 * the use of a code locks it before the other two: in another order both could wait for each other.
 */
export async function removeTotp(transaction: Transaction, userId: string): Promise<boolean> {
  const rows = await transaction.query(
    'delete from totp_secrets where user_id = $1 returning confirmed_at is not null as "was"',
    [userId],
  );
  await transaction.query('delete from totp_recovery_codes where user_id = $1', [userId]);
  await transaction.query('delete from step_ups where user_id = $1', [userId]);
  return rows[0]?.was === true;
}

/** What a recent code is stored for: the session, or the token itself if it has none. */
export interface StepUpGrant {
  readonly userId: string;
  readonly sessionId: string | null;
  readonly token: string;
}

export async function rememberStepUp(
  { clock, secrets }: Pick<TwoFactorParts, 'clock' | 'secrets'>,
  statements: Statements,
  grant: StepUpGrant,
): Promise<void> {
  await statements.query(
    `insert into step_ups (id, user_id, grant_sha256, expires_at) values ($1, $2, $3, $4)
     on conflict (grant_sha256) do update set expires_at = excluded.expires_at`,
    [secrets.newId(), grant.userId, grantHash(secrets, grant), new Date(clock.now() + STEP_UP_MS)],
  );
}

export async function isSteppedUp(
  { clock, secrets }: Pick<TwoFactorParts, 'clock' | 'secrets'>,
  statements: Statements,
  grant: StepUpGrant,
): Promise<boolean> {
  const rows = await statements.query(
    'select 1 from step_ups where grant_sha256 = $1 and user_id = $2 and expires_at > $3',
    [grantHash(secrets, grant), grant.userId, new Date(clock.now())],
  );
  return rows.length > 0;
}

/** Encrypts every secret again with the first of the master keys. Returns those that none of them decrypts. */
export async function resealTotp(
  statements: Statements,
  cipher: SecretCipher,
): Promise<{ readonly resealed: number; readonly unreadable: readonly string[] }> {
  const rows = await statements.query<{ userId: string; sealed: Uint8Array }>(
    'select user_id as "userId", sealed from totp_secrets order by user_id',
  );
  const unreadable: string[] = [];
  for (const { userId, sealed } of rows) {
    try {
      const again = await cipher.encrypt(await cipher.decrypt(sealed, boundTo(userId)), boundTo(userId));
      // Only if unchanged: the user may have started again in the meantime.
      await statements.query('update totp_secrets set sealed = $3 where user_id = $1 and sealed = $2', [
        userId,
        sealed,
        again,
      ]);
    } catch (error) {
      if ((error as Error).name !== 'CipherFailure') throw error;
      unreadable.push(userId);
    }
  }
  return { resealed: rows.length - unreadable.length, unreadable };
}

async function findSecret(
  { cipher }: TwoFactorParts,
  statements: Statements,
  userId: string,
  { isConfirmed }: { readonly isConfirmed: boolean },
): Promise<{ readonly secret: string } | null> {
  const rows = await statements.query<{ sealed: Uint8Array }>(
    'select sealed from totp_secrets where user_id = $1 and (confirmed_at is not null) = $2 for update',
    [userId, isConfirmed],
  );
  const [row] = rows;
  return row === undefined ? null : { secret: await cipher.decrypt(row.sealed, boundTo(userId)) };
}

/** The step of this code, among those valid now. All are computed, whichever matches. */
async function stepOf({ clock }: TwoFactorParts, secret: string, code: string): Promise<number | null> {
  const shown = code.replaceAll(/[\s-]/g, '');
  if (!/^\d{6}$/.test(shown)) return null;
  const now = Math.floor(clock.now() / 1000 / STEP_SECONDS);
  let found: number | null = null;
  for (let step = now - STEPS_AROUND; step <= now + STEPS_AROUND; step += 1) {
    if ((await totpCode(secret, step)) === shown) found = step;
  }
  return found;
}

/** The six digits of a 30-second step (RFC 4226 on the step's number). */
export async function totpCode(secret: string, step: number): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-1' };
  const key = await crypto.subtle.importKey('raw', fromBase32(secret), algorithm, false, ['sign']);
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const mac = new DataView(await crypto.subtle.sign('HMAC', key, counter.buffer));
  const offset = mac.getUint8(mac.byteLength - 1) & 0x0f;
  const number = mac.getUint32(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Without padding; the length is always a multiple of five bytes. */
function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('');
}

function fromBase32(text: string): Uint8Array<ArrayBuffer> {
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return new Uint8Array((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

function hashOf(secrets: Secrets, userId: string, code: string): Uint8Array {
  const letters = code.replaceAll(/[\s-]/g, '').toLowerCase();
  return secrets.sha256(`recovery code of ${userId}: ${letters}`);
}

function grantHash(secrets: Secrets, { userId, sessionId, token }: StepUpGrant): Uint8Array {
  return secrets.sha256(
    `step-up of ${userId}: ${sessionId === null ? `token ${token}` : `session ${sessionId}`}`,
  );
}

function boundTo(userId: string): string {
  return `totp of ${userId}`;
}
