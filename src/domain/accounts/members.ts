import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { findCompany, lockCompanyRow } from './company.ts';
import { emailKey, isEmail } from './email.ts';
import type { MailOutbox } from './mail-outbox.ts';
import { generateOneTimeToken } from './tokens.ts';
import { removeTotp } from './two-factor.ts';
import { findUserByEmail, insertUser, type Role, USER_COLUMNS, type User } from './user.ts';

interface MemberPage {
  readonly limit: number;
  readonly after: string | null;
  /** Lower-case words that the address must all contain. */
  readonly words?: readonly string[];
}

/** A company's members in the order in which they joined. `after` is the last id of the previous page. */
export async function listMembers(
  statements: Statements,
  companyId: string,
  { limit, after, words = [] }: MemberPage,
): Promise<readonly User[]> {
  return await statements.query<User>(
    `select ${USER_COLUMNS} from users
     where company_id = $1 and removed_at is null and ($2::uuid is null or id > $2)
       and not exists (select 1 from unnest($4::text[]) as word where position(word in lower(email)) = 0)
     order by id limit $3`,
    [companyId, after, limit, words],
  );
}

/** Members of the company, and open invitations. */
export async function countMembers(statements: Statements, companyId: string, now: Date): Promise<number> {
  const [row] = await statements.query<{ count: number }>(
    `select ((select count(*) from users where company_id = $1 and removed_at is null)
       + (select count(*) from invitations where company_id = $1 and accepted_at is null and withdrawn_at is null
            and expires_at > $2))::integer as count`,
    [companyId, now],
  );
  return row?.count ?? 0;
}

/** Those of these users who belong, or belonged, to the company: the creator of a key may have left. */
export async function findMembers(
  statements: Statements,
  companyId: string,
  ids: readonly string[],
): Promise<readonly User[]> {
  return await statements.query<User>(
    `select ${USER_COLUMNS} from users where company_id = $1 and id = any($2::uuid[])`,
    [companyId, ids],
  );
}

/** Of any company, or of none, for lists that operators read. */
export async function findPeople(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly Pick<User, 'id' | 'email'>[]> {
  return await statements.query('select id, email from users where id = any($1::uuid[])', [ids]);
}

/** Those of these users who are members now, by id or address, in the order in which they joined. */
export async function findCurrentMembers(
  statements: Statements,
  companyId: string,
  { ids = [], emails = [] }: { readonly ids?: readonly string[]; readonly emails?: readonly string[] },
): Promise<readonly User[]> {
  if (ids.length === 0 && emails.length === 0) return [];
  return await statements.query<User>(
    `select ${USER_COLUMNS} from users
     where company_id = $1 and removed_at is null and (id = any($2::uuid[]) or email_key = any($3::text[]))
     order by created_at, id`,
    [companyId, ids, emails.map(emailKey)],
  );
}

interface CompanyAdmin {
  readonly email: string;
  readonly companyName: string;
}

const MOST_ADMINS = 100;

/** The recipients of a company's mail, the first admin first. */
export async function listAdmins(
  statements: Statements,
  companyId: string,
  { limit = MOST_ADMINS }: { readonly limit?: number } = {},
): Promise<readonly CompanyAdmin[]> {
  return await statements.query<CompanyAdmin>(
    `select person.email, company.name as "companyName"
     from companies as company join users as person on person.company_id = company.id
     where company.id = $1 and person.role = 'COMPANY_ADMIN' and person.removed_at is null
     order by person.created_at, person.id limit $2`,
    [companyId, limit],
  );
}

/** The addresses of the super admins. */
export async function listSuperAdmins(statements: Statements): Promise<readonly string[]> {
  const rows = await statements.query<{ email: string }>(
    `select email from users where is_super_admin and removed_at is null order by created_at, id limit $1`,
    [MOST_ADMINS],
  );
  return rows.map(({ email }) => email);
}

interface MemberChange {
  readonly companyId: string;
  readonly userId: string;
  readonly now: Date;
  /** The admin who makes the change. Left out where the person leaves, or an identity provider decides. */
  readonly by?: string;
}

export type ChangedMember =
  | {
      readonly outcome: 'changed';
      readonly member: User;
      /** Open invitations that were withdrawn because the member lost the admin role. */
      readonly withdrawnInvitations: number;
    }
  | { readonly outcome: 'no-such-member' }
  /** A company without an admin could never get one again. */
  | { readonly outcome: 'last-admin' }
  /** The caller was demoted or removed since the request began. */
  | { readonly outcome: 'not-admin' };

/**
 * The open invitations of an admin are withdrawn with the role: otherwise a demoted admin could bring in another admin.
 */
export async function changeRole(
  transaction: Transaction,
  { role, ...change }: MemberChange & { readonly role: Role },
): Promise<ChangedMember> {
  const { companyId, userId, now } = change;
  const found = await lockMember(transaction, change, { staysAdmin: role === 'COMPANY_ADMIN' });
  if (found.outcome !== 'found') return found;
  const rows = await transaction.query<User>(
    `update users set role = $2, updated_at = $3 where id = $1 returning ${USER_COLUMNS}`,
    [userId, role, now],
  );
  const isAdmin = role === 'COMPANY_ADMIN';
  const withdrawnInvitations = isAdmin ? 0 : await withdrawOpen(transaction, { companyId, userId, now });
  return { outcome: 'changed', member: rows[0] ?? found.member, withdrawnInvitations };
}

/**
 * Removes the user from the company and withdraws the invitations that they have sent. A super admin remains one, without a
 * company; any other account is closed, and its address can be used for a new one.
 */
export async function removeMember(transaction: Transaction, change: MemberChange): Promise<ChangedMember> {
  const { companyId, userId, now } = change;
  const found = await lockMember(transaction, change, { staysAdmin: false });
  if (found.outcome !== 'found') return found;
  if (found.member.isSuperAdmin) {
    await transaction.query(
      `update users set updated_at = $2, role = 'MEMBER', company_id = null where id = $1`,
      [userId, now],
    );
  } else await closeAccount(transaction, found.member, change);
  const withdrawnInvitations = await withdrawOpen(transaction, { companyId, userId, now });
  return { outcome: 'changed', member: found.member, withdrawnInvitations };
}

/**
 * Erases all that a sign-in needs and leaves: password, second factor, sessions with their client addresses, tokens of mails, and
 * the invitation. The row stays, with the address and the identity at the provider: changes name their author, and someone who
 * was removed comes back by invitation only.
 */
async function closeAccount(
  transaction: Transaction,
  { email }: User,
  { companyId, userId, now }: MemberChange,
): Promise<void> {
  // Before the user's row: the use of such a token locks them in this order.
  await transaction.query('delete from password_resets where user_id = $1', [userId]);
  await transaction.query('delete from email_verifications where user_id = $1', [userId]);
  await transaction.query(
    `update users set updated_at = $2, role = 'MEMBER', removed_at = $2, password_hash = '' where id = $1`,
    [userId, now],
  );
  await removeTotp(transaction, userId);
  await transaction.query('delete from sessions where user_id = $1', [userId]);
  await transaction.query(
    'delete from invitations where company_id = $1 and email_key = $2 and accepted_at is not null',
    [companyId, emailKey(email)],
  );
}

/** Returns how many there were. */
async function withdrawOpen(
  transaction: Transaction,
  { companyId, userId, now }: MemberChange,
): Promise<number> {
  const rows = await transaction.query(
    `update invitations set withdrawn_at = $3 where company_id = $1 and invited_by = $2
       and accepted_at is null and withdrawn_at is null and expires_at > $3 returning id`,
    [companyId, userId, now],
  );
  return rows.length;
}

type FoundMember =
  | { readonly outcome: 'found'; readonly member: User }
  | Exclude<ChangedMember, { outcome: 'changed' }>;

/**
 * Who changes a company's people does it one after the other: two admins who remove each other at the same moment
 * would each still see the other one. The company's row is the lock; rows that refer to it are not held up. The caller's
 * role is read under the lock, so that the first of the two removals refuses the second.
 */
async function lockMember(
  transaction: Transaction,
  { companyId, userId, by }: MemberChange,
  { staysAdmin }: { readonly staysAdmin: boolean },
): Promise<FoundMember> {
  await lockCompanyRow(transaction, companyId);
  if (by !== undefined && !(await isAdminOf(transaction, companyId, by))) return { outcome: 'not-admin' };
  const rows = await transaction.query<User & { otherAdmins: bigint }>(
    `select ${USER_COLUMNS}, (select count(*) from users other where other.company_id = $1
       and other.role = 'COMPANY_ADMIN' and other.removed_at is null and other.id <> $2) as "otherAdmins"
     from users where company_id = $1 and id = $2 and removed_at is null`,
    [companyId, userId],
  );
  const [row] = rows;
  if (row === undefined) return { outcome: 'no-such-member' };
  const { otherAdmins, ...member } = row;
  const isLast = member.role === 'COMPANY_ADMIN' && !staysAdmin && otherAdmins === 0n;
  return isLast ? { outcome: 'last-admin' } : { outcome: 'found', member };
}

async function isAdminOf(statements: Statements, companyId: string, userId: string): Promise<boolean> {
  const rows = await statements.query(
    `select 1 from users where id = $2 and company_id = $1 and role = 'COMPANY_ADMIN' and removed_at is null`,
    [companyId, userId],
  );
  return rows.length > 0;
}

export interface Invitation {
  readonly id: string;
  readonly companyId: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const INVITATION_MS = 7 * 24 * 60 * 60 * 1000;
const LONGEST_INVITATION_TOKEN = 100;

const INVITATION_COLUMNS = `id, company_id as "companyId", email, role, invited_by as "invitedBy",
  created_at as "createdAt", expires_at as "expiresAt"`;

interface InvitationParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly mailOutbox: MailOutbox;
}

type Invited =
  | { readonly outcome: 'invited'; readonly invitation: Invitation }
  | { readonly outcome: 'bad-email' }
  /** Of the same company, whose admins can see that anyway. */
  | { readonly outcome: 'already-member' }
  /** The inviter was demoted or removed since the request began. */
  | { readonly outcome: 'not-admin' };

/**
 * The mail with the token is sent if the transaction commits. An open invitation of the same address ends. An address
 * that has an account elsewhere is invited like any other, so that inviting does not reveal that: the invited user
 * learns it when accepting.
 */
export async function inviteMember(
  { clock, secrets, mailOutbox }: InvitationParts,
  transaction: Transaction,
  params: {
    readonly inviter: User & { readonly companyId: string };
    readonly email: string;
    readonly role: Role;
  },
): Promise<Invited> {
  const { inviter, role } = params;
  const email = params.email.trim();
  if (!isEmail(email)) return { outcome: 'bad-email' };
  const known = await findUserByEmail(transaction, email);
  if (known?.companyId === inviter.companyId) return { outcome: 'already-member' };
  const company = await findCompany(transaction, inviter.companyId);
  const token = generateOneTimeToken(secrets);
  const now = new Date(clock.now());
  const expiresAt = new Date(now.getTime() + INVITATION_MS);
  // Concurrent invitations of the same address would violate the unique index: one waits for the other.
  await lockCompanyRow(transaction, inviter.companyId);
  await transaction.query(
    `update invitations set withdrawn_at = $3 where company_id = $1
       and (email_key = $2 or (email_key is null and email = $4)) and accepted_at is null and withdrawn_at is null`,
    [inviter.companyId, emailKey(email), now, email],
  );
  const rows = await transaction.query<Invitation>(
    `insert into invitations (id, company_id, email, email_key, role, token_sha256, invited_by, created_at, expires_at)
     select $1, $2, $3, $4, $5, $6, id, $8, $9 from users
     where id = $7 and company_id = $2 and role = 'COMPANY_ADMIN' and removed_at is null
     returning ${INVITATION_COLUMNS}`,
    [
      ...[secrets.newId(), inviter.companyId, email, emailKey(email), role],
      ...[secrets.sha256(token), inviter.id, now, expiresAt],
    ],
  );
  const [invitation] = rows;
  if (invitation === undefined) return { outcome: 'not-admin' };
  if (company === null) throw new Error('an invitation was made for a company that does not exist');
  const data = { token, companyName: company.name, invitedBy: inviter.email, expiresAt };
  const { companyId } = inviter;
  const mailed = await mailOutbox.send({ kind: 'invitation', to: email, companyId, data }, transaction);
  if (mailed.outcome === 'invalid') return { outcome: 'bad-email' };
  return { outcome: 'invited', invitation };
}

/** Those that can still be accepted, newest first. */
export async function listInvitations(
  statements: Statements,
  companyId: string,
  { limit, after, now }: { readonly limit: number; readonly after: string | null; readonly now: Date },
): Promise<readonly Invitation[]> {
  return await statements.query<Invitation>(
    `select ${INVITATION_COLUMNS} from invitations
     where company_id = $1 and accepted_at is null and withdrawn_at is null and expires_at > $2
       and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [companyId, now, after, limit],
  );
}

/** Null if the company has no such open invitation. */
export async function withdrawInvitation(
  statements: Statements,
  { companyId, invitationId, now }: { companyId: string; invitationId: string; now: Date },
): Promise<Invitation | null> {
  const rows = await statements.query<Invitation>(
    `update invitations set withdrawn_at = $3
     where company_id = $1 and id = $2 and accepted_at is null and withdrawn_at is null returning ${INVITATION_COLUMNS}`,
    [companyId, invitationId, now],
  );
  return rows[0] ?? null;
}

type AcceptedInvitation =
  | { readonly outcome: 'accepted'; readonly invitation: Invitation; readonly userId: string }
  /** Unknown, used, withdrawn or expired: not distinguished for the client. */
  | { readonly outcome: 'no-such-invitation' }
  | { readonly outcome: 'email-taken' };

export async function acceptInvitation(
  { clock, secrets }: Pick<InvitationParts, 'clock' | 'secrets'>,
  transaction: Transaction,
  { token, passwordHash }: { readonly token: string; readonly passwordHash: string },
): Promise<AcceptedInvitation> {
  if (token.length > LONGEST_INVITATION_TOKEN) return { outcome: 'no-such-invitation' };
  const [found] = await transaction.query<Pick<Invitation, 'id' | 'companyId'>>(
    'select id, company_id as "companyId" from invitations where token_sha256 = $1',
    [secrets.sha256(token)],
  );
  const invitation =
    found === undefined ? null : await claimInvitation(transaction, found, new Date(clock.now()));
  if (invitation === null) return { outcome: 'no-such-invitation' };
  const { companyId, email, role } = invitation;
  const person = { id: secrets.newId(), companyId, email, role, isSuperAdmin: false };
  const added = await insertUser(transaction, { ...person, passwordHash });
  return added.outcome === 'added' ? { outcome: 'accepted', invitation, userId: person.id } : added;
}

/**
 * Works once: the update claims the invitation, and a concurrent attempt finds it claimed. Null if it can no longer be
 * accepted. The company's row is locked first, as for every change of its members, so that no acceptance overtakes the
 * removal of its inviter.
 */
export async function claimInvitation(
  transaction: Transaction,
  { id, companyId }: Pick<Invitation, 'id' | 'companyId'>,
  now: Date,
): Promise<Invitation | null> {
  await lockCompanyRow(transaction, companyId);
  const rows = await transaction.query<Invitation>(
    `update invitations set accepted_at = $2
     where id = $1 and accepted_at is null and withdrawn_at is null and expires_at > $2
     returning ${INVITATION_COLUMNS}`,
    [id, now],
  );
  return rows[0] ?? null;
}
