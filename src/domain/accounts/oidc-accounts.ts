import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { lockCeiling } from './ceilings.ts';
import { findCompany } from './company.ts';
import { emailKey } from './email.ts';
import { changeRole, claimInvitation, countMembers } from './members.ts';
import type { OidcIdentity } from './oidc.ts';
import { findUser, findUserByEmail, insertUser, type Role, type User } from './user.ts';

/** The operator's mapping. */
export interface OidcRules {
  /** By the domain of the address: the company of new users, or null if only existing accounts may sign in. */
  readonly domains: Readonly<Record<string, string | null>>;
  /** By the value of the role claim. */
  readonly roles: Readonly<Record<string, OidcRole>>;
  readonly signUpMode: 'open' | 'invited' | 'closed';
}

type OidcRole = Role | 'SUPER_ADMIN';

interface AccountEvent {
  readonly action: string;
  readonly details: Readonly<Record<string, string>>;
}

type SignedIn =
  /** `events` are for the audit log, in the same transaction. */
  | { readonly outcome: 'user'; readonly user: User; readonly events: readonly AccountEvent[] }
  | { readonly outcome: 'refused'; readonly code: OidcRefusal };

/**
 * `domain`: not mapped. `unknown`: no account, and none is created. `closed`: SIGN_UP. `linked`: the account belongs to
 * another identity of the provider, as when an address was reassigned. `unproven`: the account's own address was never
 * verified, so another person may have created it.
 */
export type OidcRefusal = 'domain' | 'unknown' | 'closed' | 'full' | 'linked' | 'unproven';

interface Parts {
  readonly clock: Clock;
  readonly secrets: Secrets;
}

/**
 * The account of an identity: the one it is linked to; otherwise the one with its verified address, which is then
 * linked; otherwise a new one. `passwordHash` is the hash of a random password, computed before the transaction.
 */
export async function signInIdentity(
  parts: Parts,
  transaction: Transaction,
  { identity, rules, passwordHash }: { identity: OidcIdentity; rules: OidcRules; passwordHash: string },
): Promise<SignedIn> {
  const domain = emailKey(identity.email).split('@')[1] ?? '';
  if (!Object.hasOwn(rules.domains, domain)) return refused('domain');
  const mappedCompany = rules.domains[domain] ?? null;
  const requested = requestedRoles(identity.roles, rules.roles);
  const events: AccountEvent[] = [];
  let user = await findLinked(transaction, identity);
  if (user === null) {
    const found = await findUserByEmail(transaction, identity.email);
    if (found !== null && !found.emailVerified) return refused('unproven');
    const made =
      found ??
      (await addPerson(parts, transaction, {
        identity,
        rules,
        passwordHash,
        mappedCompany,
        role: requested.role,
      }));
    if (typeof made === 'string') return refused(made);
    if (!(await link(parts, transaction, identity, made.id))) return refused('linked');
    if (found === null) events.push({ action: 'member.joined', details: { by: 'oidc', role: made.role } });
    events.push({ action: 'identity.linked', details: { issuer: identity.issuer } });
    user = made;
  }
  events.push(...(await applyRoles(parts, transaction, { user, identity, rules, requested, mappedCompany })));
  const current = await findUser(transaction, user.id);
  if (current === null || (current.companyId === null && !current.isSuperAdmin)) return refused('unknown');
  return { outcome: 'user', user: current, events };
}

function refused(code: OidcRefusal): SignedIn {
  return { outcome: 'refused', code };
}

interface RequestedRoles {
  /** Null if the claim has no mapped role. */
  readonly role: Role | null;
  readonly isSuperAdmin: boolean;
}

function requestedRoles(values: readonly string[], roles: OidcRules['roles']): RequestedRoles {
  const mapped = new Set(values.flatMap((value) => (Object.hasOwn(roles, value) ? [roles[value]] : [])));
  const role = mapped.has('COMPANY_ADMIN') ? 'COMPANY_ADMIN' : mapped.has('MEMBER') ? 'MEMBER' : null;
  return { role, isSuperAdmin: mapped.has('SUPER_ADMIN') };
}

async function findLinked(
  transaction: Transaction,
  { issuer, subject }: Pick<OidcIdentity, 'issuer' | 'subject'>,
): Promise<User | null> {
  const [row] = await transaction.query<{ userId: string }>(
    'select user_id as "userId" from oidc_identities where issuer = $1 and subject = $2 for update',
    [issuer, subject],
  );
  return row === undefined ? null : await findUser(transaction, row.userId);
}

/** False if the account belongs to another identity. A link to a closed account moves to the new one. */
async function link(
  { clock, secrets }: Parts,
  transaction: Transaction,
  { issuer, subject }: OidcIdentity,
  userId: string,
): Promise<boolean> {
  const now = new Date(clock.now());
  const rows = await transaction.query(
    `insert into oidc_identities (id, issuer, subject, user_id, created_at, last_used_at)
     select $1, $2, $3, $4, $5, $5 where not exists (
       select 1 from oidc_identities where issuer = $2 and user_id = $4 and subject <> $3)
     on conflict (issuer, subject) do update
       set user_id = excluded.user_id, grants_super_admin = false, last_used_at = excluded.last_used_at
     returning id`,
    [secrets.newId(), issuer, subject, userId, now],
  );
  return rows.length > 0;
}

interface NewPerson {
  readonly identity: OidcIdentity;
  readonly rules: OidcRules;
  readonly passwordHash: string;
  readonly mappedCompany: string | null;
  readonly role: Role | null;
}

/** By an invitation to the address or, if SIGN_UP is open, into the company of its domain. */
async function addPerson(
  { clock, secrets }: Parts,
  transaction: Transaction,
  { identity, rules, passwordHash, mappedCompany, role }: NewPerson,
): Promise<User | OidcRefusal> {
  if (rules.signUpMode === 'closed') return 'closed';
  const { email } = identity;
  const now = new Date(clock.now());
  const open = await findOpenInvitation(transaction, { email, mappedCompany, now });
  const invitation = open === null ? null : await claimInvitation(transaction, open, now);
  if (invitation === null && rules.signUpMode === 'invited') return 'closed';
  const companyId = invitation?.companyId ?? mappedCompany;
  if (companyId === null || (await findCompany(transaction, companyId)) === null) return 'unknown';
  if (invitation === null && (await wasRemoved(transaction, companyId, identity))) return 'closed';
  // An open invitation already counts as a member.
  if (invitation === null && (await isFull(transaction, companyId, now))) return 'full';
  const person = { id: secrets.newId(), companyId, email, isSuperAdmin: false };
  const added = await insertUser(transaction, {
    ...{ ...person, role: invitation?.role ?? role ?? 'MEMBER', passwordHash },
  });
  return (added.outcome === 'added' ? await findUser(transaction, person.id) : null) ?? 'unknown';
}

/**
 * From the domain's company if it has one: any company can invite any address, and the user has not seen the invitation
 * yet. For a domain without one, null if several companies invite: the user chooses by the mail.
 */
async function findOpenInvitation(
  transaction: Transaction,
  { email, mappedCompany, now }: { email: string; mappedCompany: string | null; now: Date },
): Promise<{ readonly id: string; readonly companyId: string } | null> {
  const open = await transaction.query<{ id: string; companyId: string }>(
    `select id, company_id as "companyId" from invitations
     where email_key = $1 and accepted_at is null and withdrawn_at is null and expires_at > $2
       and ($3::uuid is null or company_id = $3) limit 2`,
    [emailKey(email), now, mappedCompany],
  );
  return open.length === 1 ? (open[0] ?? null) : null;
}

/**
 * Whether the user was removed from the company, or has left it: they can only return by an invitation. An account of
 * the same address that belonged to another identity was another person's.
 */
async function wasRemoved(
  transaction: Transaction,
  companyId: string,
  { issuer, subject, email }: OidcIdentity,
): Promise<boolean> {
  const rows = await transaction.query(
    `select 1 from users left join oidc_identities as linked on linked.user_id = users.id and linked.issuer = $3
     where company_id = $1 and removed_at is not null
       and (linked.subject = $4 or (email_key = $2 and linked.subject is null)) limit 1`,
    [companyId, emailKey(email), issuer, subject],
  );
  return rows.length > 0;
}

async function isFull(transaction: Transaction, companyId: string, now: Date): Promise<boolean> {
  const ceiling = await lockCeiling(transaction, companyId, 'members');
  return ceiling !== null && (await countMembers(transaction, companyId, now)) >= ceiling;
}

interface RoleChange {
  readonly user: User;
  readonly identity: OidcIdentity;
  readonly rules: OidcRules;
  readonly requested: RequestedRoles;
  readonly mappedCompany: string | null;
}

/** The claim applies in the domain's own company only, and to super admins only if the operator has mapped it. */
async function applyRoles(
  { clock }: Parts,
  transaction: Transaction,
  { user, identity, rules, requested, mappedCompany }: RoleChange,
): Promise<readonly AccountEvent[]> {
  const events: AccountEvent[] = [];
  const now = new Date(clock.now());
  const { id: userId, companyId } = user;
  if (
    requested.role !== null &&
    requested.role !== user.role &&
    companyId !== null &&
    companyId === mappedCompany
  ) {
    // The last admin of a company keeps the role, whatever the claim says.
    const changed = await changeRole(transaction, { companyId, userId, now, role: requested.role });
    if (changed.outcome === 'changed') {
      events.push({ action: 'member.role-changed', details: { by: 'oidc', role: requested.role } });
    }
  }
  const isMapped = Object.values(rules.roles).includes('SUPER_ADMIN');
  const [before] = await transaction.query<{ isGranted: boolean }>(
    `select grants_super_admin as "isGranted" from oidc_identities where issuer = $1 and subject = $2`,
    [identity.issuer, identity.subject],
  );
  const isGranted = isMapped && requested.isSuperAdmin && (before?.isGranted === true || !user.isSuperAdmin);
  await transaction.query(
    'update oidc_identities set grants_super_admin = $3, last_used_at = $4 where issuer = $1 and subject = $2',
    [identity.issuer, identity.subject, isGranted, now],
  );
  const isSuperAdmin = isGranted || (user.isSuperAdmin && before?.isGranted !== true);
  // A user without a company can only be a super admin: without that right the sign-in is refused and nothing is
  // changed.
  if (isSuperAdmin === user.isSuperAdmin || companyId === null) return events;
  await transaction.query('update users set is_super_admin = $2, updated_at = $3 where id = $1', [
    userId,
    isSuperAdmin,
    now,
  ]);
  const action = isSuperAdmin ? 'super-admin.granted' : 'super-admin.revoked';
  return [...events, { action, details: { by: 'oidc' } }];
}
