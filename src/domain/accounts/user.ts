import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { emailKey, isEmail } from './email.ts';
import { PASSWORD_MAX_LENGTH, passwordProblem } from './password-strength.ts';
import type { VerifiedToken } from './tokens.ts';

export type Role = 'MEMBER' | 'COMPANY_ADMIN';

export interface User {
  readonly id: string;
  readonly companyId: string | null;
  readonly email: string;
  readonly role: Role;
  readonly isSuperAdmin: boolean;
  readonly emailVerified: boolean;
  readonly createdAt: Date;
}

export interface NewUser {
  readonly id: string;
  readonly companyId: string | null;
  readonly email: string;
  readonly password: string;
  readonly role: Role;
  readonly isSuperAdmin: boolean;
}

type AddedUser =
  | { outcome: 'added' }
  | { outcome: 'email-taken' }
  | { outcome: 'bad-email' }
  | { outcome: 'bad-password'; message: string };

/** The user of a token, with what currently determines their rights. */
export interface SignedInUser extends User {
  readonly hasTotp: boolean;
  /** A super admin who must set up two-factor authentication first: `isSuperAdmin` is false until then. */
  readonly mustSetUpTotp: boolean;
}

interface SignInRules {
  readonly requireSuperAdminTotp: boolean;
}

/** A row of `users` as a User. */
export const USER_COLUMNS = `id, company_id as "companyId", email, role, is_super_admin as "isSuperAdmin",
  email_verified_at is not null as "emailVerified", created_at as "createdAt"`;

export async function addUser(statements: Statements, secrets: Secrets, user: NewUser): Promise<AddedUser> {
  const complaint = accountProblem(user);
  if (complaint !== null) return complaint;
  return await insertUser(statements, { ...user, passwordHash: await secrets.hashPassword(user.password) });
}

/** What is wrong with an address or a password, before anything is computed or written. */
export function accountProblem({
  email,
  password,
}: Pick<NewUser, 'email' | 'password'>): Extract<
  AddedUser,
  { outcome: 'bad-email' | 'bad-password' }
> | null {
  if (!isEmail(email)) return { outcome: 'bad-email' };
  const message = passwordProblem(password, email);
  return message === null ? null : { outcome: 'bad-password', message };
}

/** Hashing takes tens of milliseconds, so it is done before the transaction. */
type HashedUser = Omit<NewUser, 'password'> & {
  readonly passwordHash: string;
  /** False for an address that was only entered; true by default. */
  readonly emailVerified?: boolean;
};

export async function insertUser(
  statements: Statements,
  user: HashedUser,
): Promise<Extract<AddedUser, { outcome: 'added' | 'email-taken' }>> {
  const added = await statements.query(
    `insert into users (id, company_id, email, email_key, password_hash, role, is_super_admin, email_verified_at)
     values ($1, $2, $3, $4, $5, $6, $7, case when $8 then now() end) on conflict do nothing returning id`,
    [
      ...[user.id, user.companyId, user.email.trim(), emailKey(user.email)],
      ...[user.passwordHash, user.role, user.isSuperAdmin, user.emailVerified ?? true],
    ],
  );
  return added.length > 0 ? { outcome: 'added' } : { outcome: 'email-taken' };
}

export async function findUserByEmail(statements: Statements, email: string): Promise<User | null> {
  return (await findByKey(statements, email))?.user ?? null;
}

/**
 * One statement: by the key, plus the few rows that have none yet. An address that was in use twice when keys were
 * introduced belongs, in that exact spelling, to the later account.
 */
async function findByKey(
  statements: Statements,
  email: string,
): Promise<{ readonly user: User; readonly hash: string } | null> {
  const [key, own] = [emailKey(email), ownKey(email)];
  const rows = await statements.query<User & { hash: string; key: string | null }>(
    `select ${USER_COLUMNS}, password_hash as hash, email_key as key from users
     where (email_key = any($1::text[]) or email_key is null) and removed_at is null`,
    [[key, own]],
  );
  const found =
    rows.find((row) => row.key === own) ??
    rows.find((row) => row.key === key) ??
    rows.find((row) => row.key === null && emailKey(row.email) === key);
  if (found === undefined) return null;
  const { hash, key: _, ...user } = found;
  return { user, hash };
}

/** The key of an address never contains a space. */
function ownKey(email: string): string {
  return `duplicate ${email.trim()}`;
}

const KEYS_AT_ONCE = 1_000;
/** The lock under which one of several starting processes fills in keys. */
const KEYS_LOCK = 7_261_906;

/**
 * Fills in the keys of rows from before keys were introduced. Of two accounts whose addresses turn out to be the same,
 * the older gets the key and the later one is found by its exact spelling only; their ids are returned, and the log
 * names them.
 */
export async function fillEmailKeys(database: Database): Promise<readonly string[]> {
  const duplicates: string[] = [];
  for (;;) {
    const filled = await database.transaction(async (transaction) => await fillSome(transaction, duplicates));
    if (filled < KEYS_AT_ONCE) return duplicates;
  }
}

async function fillSome(transaction: Transaction, duplicates: string[]): Promise<number> {
  await transaction.query('select pg_advisory_xact_lock($1)', [KEYS_LOCK]);
  const rows = await transaction.query<{ id: string; email: string; isRemoved: boolean }>(
    `select id, email, removed_at is not null as "isRemoved" from users
     where email_key is null order by created_at, id limit $1`,
    [KEYS_AT_ONCE],
  );
  const taken = await transaction.query<{ key: string }>(
    'select email_key as key from users where email_key = any($1::text[]) and removed_at is null',
    [rows.map(({ email }) => emailKey(email))],
  );
  const known = new Set(taken.map(({ key }) => key));
  const keys = rows.map(({ id, email, isRemoved }) => {
    const key = emailKey(email);
    if (isRemoved) return key;
    if (known.has(key)) duplicates.push(id);
    const own = known.has(key) ? ownKey(email) : key;
    known.add(key);
    return own;
  });
  await transaction.query(
    `update users set email_key = given.key from unnest($1::text[], $2::text[]) as given (id, key)
     where users.id = given.id::uuid`,
    [rows.map(({ id }) => id), keys],
  );
  return rows.length;
}

export interface AuthenticatedUser extends User {
  /**
   * Whether the password is still the one that was verified; it then stays so until the transaction ends. A verification
   * takes tens of milliseconds, in which the owner may set another one because this one is known to others.
   */
  lockPassword(transaction: Transaction): Promise<boolean>;
}

/** The user of that address and password, or null. An unknown address takes as long as a wrong password. */
export async function authenticate(
  statements: Statements,
  secrets: Secrets,
  email: string,
  password: string,
): Promise<AuthenticatedUser | null> {
  if (password.length > PASSWORD_MAX_LENGTH) return null;
  const found = await findByKey(statements, email);
  const matches = await secrets.verifyPassword(password, found?.hash ?? null);
  if (found === null || !matches) return null;
  const { user, hash } = found;
  return {
    ...user,
    async lockPassword(transaction) {
      const rows = await transaction.query(
        'select 1 from users where id = $1 and password_hash = $2 and removed_at is null for no key update',
        [user.id, hash],
      );
      return rows.length > 0;
    },
  };
}

const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * The user of a token; null if they were removed. The token of a session is valid while the session is. One without a
 * session is valid until it expires, unless it was issued before the user's last session reset: `iat` has whole
 * seconds, so a token issued in the second of the reset is refused.
 */
export async function findSignedInUser(
  statements: Statements,
  token: VerifiedToken,
  rules: SignInRules,
): Promise<SignedInUser | null> {
  return (await findSignedInUsers(statements, [token], rules))[0] ?? null;
}

/** The same for many tokens in one statement, in their order. */
export async function findSignedInUsers(
  statements: Statements,
  tokens: readonly VerifiedToken[],
  { requireSuperAdminTotp }: SignInRules,
): Promise<readonly (SignedInUser | null)[]> {
  const users = new Array<SignedInUser | null>(tokens.length).fill(null);
  const wellFormed = tokens.flatMap((token, place) => (isWellFormed(token) ? [{ ...token, place }] : []));
  if (wellFormed.length === 0) return users;
  const rows = await statements.query<User & { hasTotp: boolean; place: number }>(
    `select ${USER_COLUMNS}, place, exists (select 1 from totp_secrets
       where totp_secrets.user_id = users.id and confirmed_at is not null) as "hasTotp"
     from users
     join unnest($1::int[], $2::text[], $3::float8[], $4::text[]) as token (place, user_id, issued_at, session_id)
       on users.id = token.user_id::uuid
     where removed_at is null and case when session_id = '' then
       tokens_valid_from is null or tokens_valid_from <= to_timestamp(issued_at)
     else exists (select 1 from sessions where sessions.id = session_id::uuid and sessions.user_id = users.id
       and ended_at is null and (tokens_valid_from is null or tokens_valid_from <= sessions.created_at)) end`,
    [
      wellFormed.map(({ place }) => place),
      wellFormed.map(({ userId }) => userId),
      wellFormed.map(({ issuedAt }) => issuedAt.getTime() / 1000),
      wellFormed.map(({ sessionId }) => sessionId ?? ''),
    ],
  );
  for (const { place, ...user } of rows) {
    const mustSetUpTotp = requireSuperAdminTotp && user.isSuperAdmin && !user.hasTotp;
    users[place] = { ...user, mustSetUpTotp, isSuperAdmin: user.isSuperAdmin && !mustSetUpTotp };
  }
  return users;
}

function isWellFormed({ userId, sessionId }: VerifiedToken): boolean {
  return ID.test(userId) && (sessionId === null || ID.test(sessionId));
}

/** The addresses of these users, by id. Includes users who have left, so that the author of a change stays named. */
export async function findEmails(
  statements: Statements,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await statements.query<{ id: string; email: string }>(
    'select id, email from users where id = any($1::uuid[])',
    [ids],
  );
  return new Map(rows.map(({ id, email }) => [id, email]));
}

export async function findUser(statements: Statements, id: string): Promise<User | null> {
  const rows = await statements.query<User>(
    `select ${USER_COLUMNS} from users where id = $1 and removed_at is null`,
    [id],
  );
  return rows[0] ?? null;
}
