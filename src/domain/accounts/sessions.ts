import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { JobHandler } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import {
  type AccessTokens,
  generateRefreshToken,
  nextKey,
  readRefreshToken,
  writeRefreshToken,
} from './tokens.ts';
import type { User } from './user.ts';

/**
 * The life of a session: a login starts it, and it is refreshed, each time with a new key, until it expires or is
 * ended: by its owner, by their removal, by a new password, or because a used key was sent again. Its access tokens
 * contain its id and end with it: every request looks it up with its user (`findSignedInUser`), so no message between
 * processes is needed.
 *
 * A reused refresh token ends the session: one of its two holders is not the owner. The exception is the token used
 * last, within REPEAT_MS: a client that lost the response, or a second tab, gets the same response again.
 */
interface SessionParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly accessTokens: AccessTokens;
}

/** The tokens that a client gets. `expiresAt` is the access token's. */
export interface SessionTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: Date;
}

interface SessionOrigin {
  readonly clientAddress: string;
  readonly userAgent: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const IDLE_MS = 30 * DAY_MS;
const LONGEST_SESSION_MS = 90 * DAY_MS;
/** Long enough for a retry after a lost response, too short for a copied token to be useful. */
const REPEAT_MS = 10_000;

export async function startSession(
  { clock, secrets, accessTokens }: SessionParts,
  statements: Statements,
  user: Pick<User, 'id' | 'email'>,
  origin: SessionOrigin,
): Promise<SessionTokens & { readonly sessionId: string }> {
  const token = generateRefreshToken(secrets);
  const sessionId = secrets.newId();
  const now = clock.now();
  // Old sessions of the user are removed at the next login.
  await statements.query('delete from sessions where user_id = $1 and expires_at < $2', [
    user.id,
    new Date(now - DAY_MS),
  ]);
  await statements.query(
    `insert into sessions (id, user_id, family_sha256, current_sha256, seed, client_address, user_agent,
       created_at, refreshed_at, expires_at, last_moment) values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)`,
    [
      sessionId,
      user.id,
      secrets.sha256(token.family),
      secrets.sha256(token.key),
      secrets.randomBytes(32),
      origin.clientAddress.slice(0, 100),
      origin.userAgent.slice(0, 300),
      new Date(now),
      new Date(now + IDLE_MS),
      new Date(now + LONGEST_SESSION_MS),
    ],
  );
  const access = await accessTokens.issue({ userId: user.id, email: user.email, sessionId });
  const refreshToken = writeRefreshToken(token);
  return { accessToken: access.token, refreshToken, expiresAt: access.expiresAt, sessionId };
}

type RefreshedSession =
  | { readonly outcome: 'refreshed'; readonly tokens: SessionTokens }
  | { readonly outcome: 'over' }
  /** A used key was sent again: the session has ended. */
  | { readonly outcome: 'reused'; readonly userId: string };

interface SessionRow {
  readonly userId: string;
  readonly email: string;
  readonly sessionId: string;
  readonly current: Uint8Array;
  readonly previous: Uint8Array | null;
  readonly seed: Uint8Array;
  readonly refreshedAt: Date;
  readonly lastMoment: Date;
}

/** The caller must commit whatever the outcome: a reused key ends the session. */
export async function refreshSession(
  { clock, secrets, accessTokens }: SessionParts,
  transaction: Transaction,
  refreshToken: string,
): Promise<RefreshedSession> {
  const shown = readRefreshToken(refreshToken);
  if (shown === null) return { outcome: 'over' };
  const now = clock.now();
  const session = await lockSession(transaction, secrets.sha256(shown.family), new Date(now));
  if (session === null) return { outcome: 'over' };
  const shownHash = secrets.sha256(shown.key).toHex();
  const following = nextKey(secrets, session.seed, shown.key);
  const isCurrent = shownHash === session.current.toHex();
  const isRepeat =
    shownHash === session.previous?.toHex() &&
    Math.abs(now - session.refreshedAt.getTime()) <= REPEAT_MS &&
    secrets.sha256(following).toHex() === session.current.toHex();
  if (!isCurrent && !isRepeat) {
    await transaction.query('update sessions set ended_at = $2 where id = $1', [
      session.sessionId,
      new Date(now),
    ]);
    return { outcome: 'reused', userId: session.userId };
  }
  if (isCurrent) {
    const expiresAt = new Date(Math.min(now + IDLE_MS, session.lastMoment.getTime()));
    await transaction.query(
      `update sessions set previous_sha256 = current_sha256, current_sha256 = $2, refreshed_at = $3,
         expires_at = $4 where id = $1`,
      [session.sessionId, secrets.sha256(following), new Date(now), expiresAt],
    );
  }
  const access = await accessTokens.issue(session);
  const next = writeRefreshToken({ family: shown.family, key: following });
  const tokens = { accessToken: access.token, refreshToken: next, expiresAt: access.expiresAt };
  return { outcome: 'refreshed', tokens };
}

/** Null for a session that has ended or expired, or whose owner was removed. */
async function lockSession(
  transaction: Transaction,
  family: Uint8Array,
  now: Date,
): Promise<SessionRow | null> {
  const rows = await transaction.query<SessionRow>(
    `select user_id as "userId", email, sessions.id as "sessionId", current_sha256 as current, previous_sha256 as previous, seed,
       refreshed_at as "refreshedAt", last_moment as "lastMoment"
     from sessions join users on users.id = sessions.user_id
     where family_sha256 = $1 and ended_at is null and expires_at > $2 and removed_at is null
     for update of sessions`,
    [family, now],
  );
  return rows[0] ?? null;
}

/** Equals the life of an access token, so that the token of a log-in counts as recent until it expires. */
const RECENT_LOGIN_MS = 15 * 60_000;

/** Whether the session was started by a log-in a short time ago. Refreshing it does not count. */
export async function isRecentLogin(statements: Statements, sessionId: string, now: Date): Promise<boolean> {
  const rows = await statements.query('select 1 from sessions where id = $1 and created_at >= $2', [
    sessionId,
    new Date(now.getTime() - RECENT_LOGIN_MS),
  ]);
  return rows.length > 0;
}

/** A session as its owner sees it in the list: no token, no hash. */
export interface LiveSession {
  readonly id: string;
  readonly clientAddress: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly refreshedAt: Date;
  readonly expiresAt: Date;
}

const MOST_SESSIONS_LISTED = 100;

/** Newest first. */
export async function listSessions(
  statements: Statements,
  userId: string,
  now: Date,
): Promise<readonly LiveSession[]> {
  return await statements.query<LiveSession>(
    `select id, client_address as "clientAddress", user_agent as "userAgent", created_at as "createdAt",
       refreshed_at as "refreshedAt", expires_at as "expiresAt"
     from sessions where user_id = $1 and ended_at is null and expires_at > $2 order by id desc limit $3`,
    [userId, now, MOST_SESSIONS_LISTED],
  );
}

interface EndedSession {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  readonly companyId: string | null;
}

/** By its refresh token, current or used. Null if there is no live session. */
export async function endSessionByToken(
  statements: Statements,
  secrets: Secrets,
  refreshToken: string,
  now: Date,
): Promise<EndedSession | null> {
  const shown = readRefreshToken(refreshToken);
  if (shown === null) return null;
  const rows = await statements.query<EndedSession>(
    `update sessions set ended_at = $2 from users
     where users.id = user_id and family_sha256 = $1 and ended_at is null and expires_at > $2
     returning sessions.id, user_id as "userId", email, company_id as "companyId"`,
    [secrets.sha256(shown.family), now],
  );
  return rows[0] ?? null;
}

/** False if the user has no such session. */
export async function endSession(
  statements: Statements,
  { userId, sessionId, now }: { readonly userId: string; readonly sessionId: string; readonly now: Date },
): Promise<boolean> {
  const rows = await statements.query(
    'update sessions set ended_at = $3 where user_id = $1 and id = $2 and ended_at is null returning id',
    [userId, sessionId, now],
  );
  return rows.length > 0;
}

/** Ends all sessions of a user. Returns how many there were. */
export async function endAllSessions(statements: Statements, userId: string, now: Date): Promise<number> {
  const rows = await statements.query(
    'update sessions set ended_at = $2 where user_id = $1 and ended_at is null returning id',
    [userId, now],
  );
  return rows.length;
}

/**
 * Ends every session, and invalidates all tokens without a session that were issued before. Returns how many sessions
 * there were.
 */
export async function resetSessions(statements: Statements, userId: string, now: Date): Promise<number> {
  await statements.query('update users set tokens_valid_from = $2, updated_at = $2 where id = $1', [
    userId,
    now,
  ]);
  return await endAllSessions(statements, userId, now);
}

/** Removes old sessions, password resets and invitations. */
export const ACCOUNTS_RETENTION_QUEUE = retentionQueue('accounts-retention');
export const ACCOUNTS_RETENTION_CRON = '52 3 * * *';

interface AccountsRetentionParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * By their expiry. An accepted invitation is not needed later: the audit log says who was invited. Sessions are also
 * removed when their owner logs in again, so these belong to users who did not.
 */
const EXPIRED = [
  { days: 1, sql: `delete from sessions where ${isExpired('sessions')}` },
  { days: 1, sql: `delete from step_ups where ${isExpired('step_ups')}` },
  { days: 1, sql: `delete from email_verifications where ${isExpired('email_verifications')}` },
  { days: 1, sql: `delete from password_resets where ${isExpired('password_resets')}` },
  { days: 400, sql: `delete from invitations where ${isExpired('invitations')}` },
];

function isExpired(table: string): string {
  return `id = any (array(
    select id from ${table} where expires_at < $1 order by expires_at limit ${CHUNK_ROWS} for update skip locked))`;
}

/** Returns how many rows were removed. */
export async function purgeExpiredTokens(
  { database, clock, log }: AccountsRetentionParts,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const { days, sql } of EXPIRED) {
    const before = new Date(clock.now() - days * DAY_MS);
    removed += (await changeInChunks(database, { sql, values: [before], signal })).rows;
  }
  if (removed > 0) log.info('sessions, resets and invitations that are long over were removed', { removed });
  return removed;
}

/** The handler of ACCOUNTS_RETENTION_QUEUE. */
export function createAccountsRetentionHandler(parts: AccountsRetentionParts): JobHandler {
  return async ({ signal }) => void (await purgeExpiredTokens(parts, signal));
}
