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
 * PostgreSQL's own answers, by class. 57014 is its statement time-out. These say nothing about the statement: 08 a
 * broken connection, 25006 a server that is read-only (in the middle of a fail-over), 28 a login that is refused (a
 * rotated password), 3D a database that is gone, 53 a server that is full (connections, disk, memory), 57P01 to 57P05
 * one that goes down or drops us, 58 a failure of its disk or system. Everything else is the statement's own fault.
 */
export function reasonOfSqlState(sqlState: string): DatabaseFailure['reason'] {
  if (sqlState === '57014' || sqlState === '25P03' || sqlState === '55P03') return 'time-out';
  return /^(08|25006|28|3D|53|57P|58)/.test(sqlState) ? 'unavailable' : 'refused';
}
