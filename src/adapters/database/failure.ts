import type { DatabaseFailure } from '../../ports/database.ts';

type Details = { sqlState?: string | null; constraint?: string | null; cause?: unknown };

export function databaseFailure(
  reason: DatabaseFailure['reason'],
  message: string,
  { sqlState = null, constraint = null, cause }: Details = {},
): DatabaseFailure {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { name: 'DatabaseFailure' as const, reason, sqlState, constraint });
}

export function isDatabaseFailure(error: unknown): error is DatabaseFailure {
  return error instanceof Error && error.name === 'DatabaseFailure';
}

/**
 * PostgreSQL's errors, by class. 57014 is its statement time-out. These are not caused by the statement: 08 a broken
 * connection, 25006 a read-only server (during a failover), 28 a rejected log-in (a rotated password), 3D a missing
 * database, 53 a full server (connections, disk, memory), 57P01 to 57P05 a server that shuts down or disconnects us, 58 a
 * failure of its disk or system. All others are caused by the statement.
 */
export function reasonOfSqlState(sqlState: string): DatabaseFailure['reason'] {
  if (sqlState === '57014' || sqlState === '25P03' || sqlState === '55P03') return 'time-out';
  return /^(08|25006|28|3D|53|57P|58)/.test(sqlState) ? 'unavailable' : 'refused';
}
