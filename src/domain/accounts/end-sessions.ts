import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { readRefreshToken } from './refresh-token.ts';

/** A session as its owner sees it among their others: no token, no hash. */
export interface LiveSession {
  readonly id: string;
  readonly clientAddress: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly refreshedAt: Date;
  readonly expiresAt: Date;
}

const MOST_LISTED = 100;

/** The newest first. */
export async function listSessions(
  statements: Statements,
  userId: string,
  now: Date,
): Promise<readonly LiveSession[]> {
  return await statements.query<LiveSession>(
    `select id, client_address as "clientAddress", user_agent as "userAgent", created_at as "createdAt",
       refreshed_at as "refreshedAt", expires_at as "expiresAt"
     from sessions where user_id = $1 and ended_at is null and expires_at > $2 order by id desc limit $3`,
    [userId, now, MOST_LISTED],
  );
}

export interface EndedSession {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  readonly companyId: string | null;
}

/** By its refresh token, current or spent. Null where there is none that lives. */
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

/** False where the user has no such session: another person's is not theirs to end. */
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

/** All sessions of a user end; how many there were. */
export async function endAllSessions(statements: Statements, userId: string, now: Date): Promise<number> {
  const rows = await statements.query(
    'update sessions set ended_at = $2 where user_id = $1 and ended_at is null returning id',
    [userId, now],
  );
  return rows.length;
}
