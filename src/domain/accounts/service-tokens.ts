import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { generateOneTimeToken } from './tokens.ts';
import type { SignedInUser } from './user.ts';

/**
 * A service token lets a program call GraphQL for a company: only operations whose scope it has, and none without a
 * scope. It is looked up with every request, so a revocation takes effect at once on every process. It acts within the
 * rights of the admin who created it: once that user is removed, demoted or in another company, it is refused.
 */
export const SERVICE_SCOPES = [
  'company:read',
  'members:read',
  'members:write',
  'keys:read',
  'keys:write',
  'usage:read',
  'billing:read',
  'audit:read',
  'hiring:read',
  'hiring:write',
] as const;

export type ServiceScope = (typeof SERVICE_SCOPES)[number];

export interface ServiceToken {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

interface ServiceTokenParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
}

const COLUMNS = `id, company_id as "companyId", name, scopes, created_by as "createdBy", created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** The format of the bearer token; no access token begins like this. */
const FORM = /^tps_[\w-]{43}$/;
const DAY_MS = 24 * 60 * 60 * 1000;
const USUAL_LIFE_MS = 365 * DAY_MS;
const LONGEST_LIFE_MS = 5 * 365 * DAY_MS;
export const MOST_SERVICE_TOKENS = 100;
/** `lastUsedAt` is written at most this often, so that a busy token costs no write per request. */
const USE_NOTED_MS = 4_000;

interface ServiceTokenParams {
  readonly companyId: string;
  readonly createdBy: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Null is a year from now. */
  readonly expiresAt: Date | null;
}

type CreatedToken =
  | { readonly outcome: 'created'; readonly rawToken: string; readonly serviceToken: ServiceToken }
  | { readonly outcome: 'invalid'; readonly field: 'name' | 'scopes' | 'expiresAt'; readonly message: string }
  | { readonly outcome: 'too-many' };

export async function createServiceToken(
  { clock, secrets }: ServiceTokenParts,
  transaction: Transaction,
  params: ServiceTokenParams,
): Promise<CreatedToken> {
  const now = clock.now();
  const expiresAt = params.expiresAt ?? new Date(now + USUAL_LIFE_MS);
  const complaint = complaintAbout({ ...params, expiresAt }, now);
  if (complaint !== null) return { outcome: 'invalid', ...complaint };
  // Serialized per company, so that concurrent creations cannot exceed the limit together.
  await transaction.query('select id from companies where id = $1 for update', [params.companyId]);
  const [counted] = await transaction.query<{ live: number }>(
    `select count(*)::int as live from service_tokens
     where company_id = $1 and revoked_at is null and expires_at > $2`,
    [params.companyId, new Date(now)],
  );
  if ((counted?.live ?? 0) >= MOST_SERVICE_TOKENS) return { outcome: 'too-many' };
  const rawToken = `tps_${generateOneTimeToken(secrets)}`;
  const scopes = SERVICE_SCOPES.filter((scope) => params.scopes.includes(scope));
  const [serviceToken] = await transaction.query<ServiceToken>(
    `insert into service_tokens (id, company_id, name, token_sha256, scopes, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${COLUMNS}`,
    [
      secrets.newId(),
      params.companyId,
      params.name.trim(),
      secrets.sha256(rawToken),
      scopes,
      params.createdBy,
      new Date(now),
      expiresAt,
    ],
  );
  if (serviceToken === undefined) throw new Error('a service token was not stored');
  return { outcome: 'created', rawToken, serviceToken };
}

function complaintAbout(
  { name, scopes, expiresAt }: ServiceTokenParams & { readonly expiresAt: Date },
  now: number,
): { readonly field: 'name' | 'scopes' | 'expiresAt'; readonly message: string } | null {
  const unknown = scopes.find((scope) => !(SERVICE_SCOPES as readonly string[]).includes(scope));
  if (name.trim() === '' || name.trim().length > 200) {
    return { field: 'name', message: 'it must have 1 to 200 characters' };
  }
  if (scopes.length === 0 || unknown !== undefined) {
    const message = `${unknown === undefined ? 'none is given' : `there is no scope ${unknown.slice(0, 50)}`}; choose from ${SERVICE_SCOPES.join(', ')}`;
    return { field: 'scopes', message };
  }
  if (expiresAt.getTime() <= now) return { field: 'expiresAt', message: 'it must be in the future' };
  if (expiresAt.getTime() > now + LONGEST_LIFE_MS) {
    return { field: 'expiresAt', message: 'it must be within five years' };
  }
  return null;
}

/** All of the company's tokens, in any status, newest first. */
export async function listServiceTokens(
  statements: Statements,
  companyId: string,
): Promise<readonly ServiceToken[]> {
  return await statements.query<ServiceToken>(
    `select ${COLUMNS} from service_tokens where company_id = $1 order by id desc limit 1000`,
    [companyId],
  );
}

/** Revoking it again is not an error. Null if the company has no such token. */
export async function revokeServiceToken(
  statements: Statements,
  { companyId, id, now }: { readonly companyId: string; readonly id: string; readonly now: Date },
): Promise<{ readonly serviceToken: ServiceToken; readonly wasLive: boolean } | null> {
  const own = [companyId, id];
  const [revoked] = await statements.query<ServiceToken>(
    `update service_tokens set revoked_at = $3 where company_id = $1 and id = $2 and revoked_at is null
     returning ${COLUMNS}`,
    [...own, now],
  );
  if (revoked !== undefined) return { serviceToken: revoked, wasLive: true };
  const [earlier] = await statements.query<ServiceToken>(
    `select ${COLUMNS} from service_tokens where company_id = $1 and id = $2`,
    own,
  );
  return earlier === undefined ? null : { serviceToken: earlier, wasLive: false };
}

export type ServiceTokenStatus = 'LIVE' | 'REVOKED' | 'EXPIRED';

export function serviceTokenStatus(token: ServiceToken, nowMs: number): ServiceTokenStatus {
  if (token.revokedAt !== null) return 'REVOKED';
  return token.expiresAt.getTime() <= nowMs ? 'EXPIRED' : 'LIVE';
}

export function isServiceToken(text: string): boolean {
  return text.startsWith('tps_');
}

export interface TokenInUse {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** The user whose rights it has: an admin of the company, never as a super admin. */
  readonly user: SignedInUser;
}

type TokenRow = Omit<TokenInUse, 'user'> & { readonly isNoted: boolean } & Omit<
    SignedInUser,
    'id' | 'hasTotp' | 'mustSetUpTotp' | 'isSuperAdmin'
  > & { readonly userId: string };

/** Null unless it is a live token of a user who is still an admin. */
export async function findServiceToken(
  { clock, secrets }: ServiceTokenParts,
  statements: Statements,
  rawToken: string,
): Promise<TokenInUse | null> {
  if (!FORM.test(rawToken)) return null;
  const now = clock.now();
  const [row] = await statements.query<TokenRow>(
    `select token.id, token.name, token.scopes, users.id as "userId", users.company_id as "companyId", users.email,
       users.role, users.email_verified_at is not null as "emailVerified", users.created_at as "createdAt",
       coalesce(token.last_used_at > $3, false) as "isNoted"
     from service_tokens token join users on users.id = token.created_by
     where token.token_sha256 = $1 and token.revoked_at is null and token.expires_at > $2
       and users.removed_at is null and users.role = 'COMPANY_ADMIN' and users.company_id = token.company_id`,
    [secrets.sha256(rawToken), new Date(now), new Date(now - USE_NOTED_MS)],
  );
  if (row === undefined) return null;
  const { id, name, scopes, isNoted, userId, ...person } = row;
  if (!isNoted) {
    await statements.query('update service_tokens set last_used_at = $2 where id = $1', [id, new Date(now)]);
  }
  const user = { ...person, id: userId, isSuperAdmin: false, hasTotp: false, mustSetUpTotp: false };
  return { id, name, scopes, user };
}
