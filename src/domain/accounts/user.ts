import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';

export type Role = 'MEMBER' | 'COMPANY_ADMIN';

export interface User {
  readonly id: string;
  readonly companyId: string | null;
  readonly email: string;
  readonly role: Role;
  readonly isSuperAdmin: boolean;
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

export type AddedUser =
  | { outcome: 'added' }
  | { outcome: 'email-taken' }
  | { outcome: 'bad-email' }
  | { outcome: 'bad-password'; message: string };

export const PASSWORD_MIN_LENGTH = 10;
/** argon2id takes any length; a bound keeps one log-in from costing what a thousand do. */
export const PASSWORD_MAX_LENGTH = 512;
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,185}\.[^\s@.]{2,63}$/;

const COLUMNS = `id, company_id as "companyId", email, role, is_super_admin as "isSuperAdmin",
  created_at as "createdAt"`;

export async function addUser(statements: Statements, secrets: Secrets, user: NewUser): Promise<AddedUser> {
  const email = user.email.trim();
  if (!EMAIL.test(email)) return { outcome: 'bad-email' };
  const complaint = passwordComplaint(user.password);
  if (complaint !== null) return { outcome: 'bad-password', message: complaint };
  const hash = await secrets.hashPassword(user.password);
  const added = await statements.query(
    `insert into users (id, company_id, email, password_hash, role, is_super_admin)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id`,
    [user.id, user.companyId, email, hash, user.role, user.isSuperAdmin],
  );
  return added.length > 0 ? { outcome: 'added' } : { outcome: 'email-taken' };
}

export function passwordComplaint(password: string): string | null {
  if (password.length < PASSWORD_MIN_LENGTH) {
    return `a password has at least ${PASSWORD_MIN_LENGTH} characters`;
  }
  if (password.length > PASSWORD_MAX_LENGTH) {
    return `a password has at most ${PASSWORD_MAX_LENGTH} characters`;
  }
  return null;
}

export async function findUserByEmail(statements: Statements, email: string): Promise<User | null> {
  const rows = await statements.query<User>(`select ${COLUMNS} from users where lower(email) = lower($1)`, [
    email.trim(),
  ]);
  return rows[0] ?? null;
}

/** The user of that address and password, or null. An unknown address takes as long as a wrong password. */
export async function authenticate(
  statements: Statements,
  secrets: Secrets,
  email: string,
  password: string,
): Promise<User | null> {
  if (password.length > PASSWORD_MAX_LENGTH) return null;
  const rows = await statements.query<User & { hash: string }>(
    `select ${COLUMNS}, password_hash as hash from users where lower(email) = lower($1)`,
    [email.trim()],
  );
  const found = rows[0];
  const matches = await secrets.verifyPassword(password, found?.hash ?? null);
  if (found === undefined || !matches) return null;
  const { hash: _, ...user } = found;
  return user;
}
