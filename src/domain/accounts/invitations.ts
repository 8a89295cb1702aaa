import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { findCompany } from './company.ts';
import type { MailOutbox } from './mail-outbox.ts';
import { drawOneTimeToken } from './refresh-token.ts';
import { findUserByEmail, insertUser, isEmail, type Role, type User } from './user.ts';

export interface Invitation {
  readonly id: string;
  readonly companyId: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export const INVITATION_MS = 7 * 24 * 60 * 60 * 1000;
const LONGEST_TOKEN = 100;

const COLUMNS = `id, company_id as "companyId", email, role, invited_by as "invitedBy",
  created_at as "createdAt", expires_at as "expiresAt"`;

export interface InvitationParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly mailOutbox: MailOutbox;
}

export type Invited =
  | { readonly outcome: 'invited'; readonly invitation: Invitation }
  | { readonly outcome: 'bad-email' }
  /** One account an address: whoever has one cannot join a second company with it. */
  | { readonly outcome: 'email-taken' };

/** The mail with the token goes out with the commit. An open invitation of the same address ends. */
export async function inviteMember(
  { clock, secrets, mailOutbox }: InvitationParts,
  transaction: Transaction,
  wanted: {
    readonly inviter: User & { readonly companyId: string };
    readonly email: string;
    readonly role: Role;
  },
): Promise<Invited> {
  const { inviter, role } = wanted;
  const email = wanted.email.trim();
  if (!isEmail(email)) return { outcome: 'bad-email' };
  if ((await findUserByEmail(transaction, email)) !== null) return { outcome: 'email-taken' };
  const company = await findCompany(transaction, inviter.companyId);
  const token = drawOneTimeToken(secrets);
  const now = new Date(clock.now());
  const expiresAt = new Date(now.getTime() + INVITATION_MS);
  // Two invitations of one address at the same moment would meet in the unique index: one waits for the other.
  await transaction.query('select 1 from companies where id = $1 for no key update', [inviter.companyId]);
  await transaction.query(
    `update invitations set withdrawn_at = $3 where company_id = $1 and lower(email) = lower($2)
       and accepted_at is null and withdrawn_at is null`,
    [inviter.companyId, email, now],
  );
  const rows = await transaction.query<Invitation>(
    `insert into invitations (id, company_id, email, role, token_sha256, invited_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${COLUMNS}`,
    [secrets.newId(), inviter.companyId, email, role, secrets.sha256(token), inviter.id, now, expiresAt],
  );
  const [invitation] = rows;
  if (invitation === undefined || company === null) throw new Error('an invitation was not kept');
  const data = { token, companyName: company.name, invitedBy: inviter.email, expiresAt };
  const { companyId } = inviter;
  const mailed = await mailOutbox.send({ kind: 'invitation', to: email, companyId, data }, transaction);
  if (mailed.outcome === 'invalid') return { outcome: 'bad-email' };
  return { outcome: 'invited', invitation };
}

/** Those that can still be accepted, the newest first. */
export async function listInvitations(
  statements: Statements,
  companyId: string,
  { limit, after, now }: { readonly limit: number; readonly after: string | null; readonly now: Date },
): Promise<readonly Invitation[]> {
  return await statements.query<Invitation>(
    `select ${COLUMNS} from invitations
     where company_id = $1 and accepted_at is null and withdrawn_at is null and expires_at > $2
       and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [companyId, now, after, limit],
  );
}

/** Null where the company has no such open invitation. */
export async function withdrawInvitation(
  statements: Statements,
  { companyId, invitationId, now }: { companyId: string; invitationId: string; now: Date },
): Promise<Invitation | null> {
  const rows = await statements.query<Invitation>(
    `update invitations set withdrawn_at = $3
     where company_id = $1 and id = $2 and accepted_at is null and withdrawn_at is null returning ${COLUMNS}`,
    [companyId, invitationId, now],
  );
  return rows[0] ?? null;
}

export type AcceptedInvitation =
  | { readonly outcome: 'accepted'; readonly invitation: Invitation; readonly userId: string }
  /** Unknown, used, withdrawn or expired: all the same to whoever holds it. */
  | { readonly outcome: 'no-such-invitation' }
  | { readonly outcome: 'email-taken' };

/** Once: the update takes the invitation, and whoever comes at the same moment finds it taken. */
export async function acceptInvitation(
  { clock, secrets }: Pick<InvitationParts, 'clock' | 'secrets'>,
  transaction: Transaction,
  { token, passwordHash }: { readonly token: string; readonly passwordHash: string },
): Promise<AcceptedInvitation> {
  if (token.length > LONGEST_TOKEN) return { outcome: 'no-such-invitation' };
  const rows = await transaction.query<Invitation>(
    `update invitations set accepted_at = $2
     where token_sha256 = $1 and accepted_at is null and withdrawn_at is null and expires_at > $2
     returning ${COLUMNS}`,
    [secrets.sha256(token), new Date(clock.now())],
  );
  const [invitation] = rows;
  if (invitation === undefined) return { outcome: 'no-such-invitation' };
  const { companyId, email, role } = invitation;
  const person = { id: secrets.newId(), companyId, email, role, isSuperAdmin: false };
  const added = await insertUser(transaction, { ...person, passwordHash });
  return added.outcome === 'added' ? { outcome: 'accepted', invitation, userId: person.id } : added;
}
