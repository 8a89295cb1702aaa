import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { MailOutbox } from './mail-outbox.ts';
import { resetSessions } from './sessions.ts';
import { generateOneTimeToken } from './tokens.ts';
import { USER_COLUMNS, type User } from './user.ts';

const RESET_MS = 60 * 60 * 1000;
const LONGEST_TOKEN = 100;

interface ResetParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly mailOutbox: MailOutbox;
}

/** Earlier tokens become invalid. */
export async function requestPasswordReset(
  { clock, secrets, mailOutbox }: ResetParts,
  transaction: Transaction,
  user: User,
): Promise<void> {
  const token = generateOneTimeToken(secrets);
  const now = new Date(clock.now());
  const expiresAt = new Date(now.getTime() + RESET_MS);
  await transaction.query('delete from password_resets where user_id = $1', [user.id]);
  await transaction.query(
    `insert into password_resets (id, user_id, token_sha256, created_at, expires_at)
     values ($1, $2, $3, $4, $5)`,
    [secrets.newId(), user.id, secrets.sha256(token), now, expiresAt],
  );
  await mailOutbox.send({ kind: 'password-reset', to: user.email, data: { token, expiresAt } }, transaction);
}

/** Works once; null for a token that is unknown, used or expired. All sessions of the user end. */
export async function resetPassword(
  { clock, secrets }: Pick<ResetParts, 'clock' | 'secrets'>,
  transaction: Transaction,
  { token, passwordHash }: { readonly token: string; readonly passwordHash: string },
): Promise<User | null> {
  if (token.length > LONGEST_TOKEN) return null;
  const now = new Date(clock.now());
  const rows = await transaction.query<User>(
    `with taken as (
       update password_resets set used_at = $2
       where token_sha256 = $1 and used_at is null and expires_at > $2 returning user_id)
     select ${USER_COLUMNS} from users where id = (select user_id from taken) and removed_at is null`,
    [secrets.sha256(token), now],
  );
  const [user] = rows;
  if (user === undefined) return null;
  await setPassword(transaction, user.id, passwordHash, now);
  return user;
}

/**
 * Ends every session and every open reset, and invalidates all access tokens issued before: the password may be changed
 * because another person knew the old one, or could read the mail of a reset.
 */
export async function setPassword(
  statements: Statements,
  userId: string,
  passwordHash: string,
  now: Date,
): Promise<void> {
  await statements.query('update users set password_hash = $2 where id = $1', [userId, passwordHash]);
  await statements.query('delete from password_resets where user_id = $1 and used_at is null', [userId]);
  await resetSessions(statements, userId, now);
}
