import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { MailOutbox } from './mail-outbox.ts';
import { generateOneTimeToken } from './tokens.ts';
import { USER_COLUMNS, type User } from './user.ts';

/**
 * The address of a sign-up may belong to another person. Until the token that was mailed to it is used, the user gets
 * no granted credits and cannot invite; everything else works, and purchased credits can be spent at once. An accepted
 * invitation and a password reset also prove that mail arrives, so they verify the address too.
 */
interface VerificationParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly mailOutbox: MailOutbox;
}

const VERIFICATION_MS = 3 * 24 * 60 * 60 * 1000;
const LONGEST_TOKEN = 100;

/** The mail is sent if the transaction commits. Earlier tokens become invalid. */
export async function mailVerification(
  { clock, secrets, mailOutbox }: VerificationParts,
  transaction: Transaction,
  user: { readonly id: string; readonly email: string },
): Promise<void> {
  const token = generateOneTimeToken(secrets);
  const now = new Date(clock.now());
  const expiresAt = new Date(now.getTime() + VERIFICATION_MS);
  await transaction.query('delete from email_verifications where user_id = $1', [user.id]);
  await transaction.query(
    `insert into email_verifications (id, user_id, token_sha256, created_at, expires_at)
     values ($1, $2, $3, $4, $5)`,
    [secrets.newId(), user.id, secrets.sha256(token), now, expiresAt],
  );
  await mailOutbox.send({ kind: 'verify-email', to: user.email, data: { token, expiresAt } }, transaction);
}

/** Works once; null for a token that is unknown, used or expired. */
export async function takeVerification(
  { clock, secrets }: Pick<VerificationParts, 'clock' | 'secrets'>,
  transaction: Transaction,
  token: string,
): Promise<User | null> {
  if (token.length > LONGEST_TOKEN) return null;
  const rows = await transaction.query<User>(
    `with taken as (delete from email_verifications where token_sha256 = $1 and expires_at > $2 returning user_id)
     select ${USER_COLUMNS} from users where id = (select user_id from taken) and removed_at is null`,
    [secrets.sha256(token), new Date(clock.now())],
  );
  return rows[0] ?? null;
}

/** False if it was verified before. */
export async function markVerified(statements: Statements, userId: string, now: Date): Promise<boolean> {
  const rows = await statements.query(
    `update users set email_verified_at = $2, updated_at = $2
     where id = $1 and email_verified_at is null returning id`,
    [userId, now],
  );
  return rows.length > 0;
}

/** Whether this is the user that the company started with, and still an admin of it. */
export async function isFirstAdmin(statements: Statements, user: User): Promise<boolean> {
  if (user.companyId === null || user.role !== 'COMPANY_ADMIN') return false;
  const rows = await statements.query<{ id: string }>(
    'select id from users where company_id = $1 order by created_at, id limit 1',
    [user.companyId],
  );
  return rows[0]?.id === user.id;
}
