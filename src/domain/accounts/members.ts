import type { Statements, Transaction } from '../../ports/database.ts';
import { endAllSessions } from './end-sessions.ts';
import { type Role, USER_COLUMNS, type User } from './user.ts';

/** A company's people in the order in which they came. `after` is the last id of the page before. */
export async function listMembers(
  statements: Statements,
  companyId: string,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<readonly User[]> {
  return await statements.query<User>(
    `select ${USER_COLUMNS} from users
     where company_id = $1 and removed_at is null and ($2::uuid is null or id > $2) order by id limit $3`,
    [companyId, after, limit],
  );
}

/** Those of these people who belong, or belonged, to the company: a key's maker may have left. */
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

export interface MemberChange {
  readonly companyId: string;
  readonly userId: string;
  readonly now: Date;
}

export type ChangedMember =
  | { readonly outcome: 'changed'; readonly member: User }
  | { readonly outcome: 'no-such-member' }
  /** A company without an admin could never get one again. */
  | { readonly outcome: 'last-admin' };

export async function changeRole(
  transaction: Transaction,
  { companyId, userId, now, role }: MemberChange & { readonly role: Role },
): Promise<ChangedMember> {
  const found = await lockMember(transaction, companyId, userId, { staysAdmin: role === 'COMPANY_ADMIN' });
  if (found.outcome !== 'changed') return found;
  const rows = await transaction.query<User>(
    `update users set role = $2, updated_at = $3 where id = $1 returning ${USER_COLUMNS}`,
    [userId, role, now],
  );
  return { outcome: 'changed', member: rows[0] ?? found.member };
}

/**
 * The person is no longer of the company, and none of their sessions can be refreshed. A super admin stays one,
 * without a company; everybody else's account is closed and its address free for another one.
 */
export async function removeMember(
  transaction: Transaction,
  { companyId, userId, now }: MemberChange,
): Promise<ChangedMember> {
  const found = await lockMember(transaction, companyId, userId, { staysAdmin: false });
  if (found.outcome !== 'changed') return found;
  await transaction.query(
    `update users set updated_at = $2, role = 'MEMBER',
       company_id = case when is_super_admin then null else company_id end,
       removed_at = case when is_super_admin then null else $2::timestamptz end
     where id = $1`,
    [userId, now],
  );
  if (!found.member.isSuperAdmin) await endAllSessions(transaction, userId, now);
  return found;
}

/**
 * Who changes a company's people does it one after the other: two admins who remove each other at the same moment
 * would each still see the other one. The company's row is the lock; rows that refer to it are not held up.
 */
async function lockMember(
  transaction: Transaction,
  companyId: string,
  userId: string,
  { staysAdmin }: { readonly staysAdmin: boolean },
): Promise<ChangedMember> {
  await transaction.query('select 1 from companies where id = $1 for no key update', [companyId]);
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
  return isLast ? { outcome: 'last-admin' } : { outcome: 'changed', member };
}
