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
 * PostgreSQL's own answers, by class: 57014 is its statement time-out, 57P01 to 57P05 a server that goes down
 * or drops us, 53 a server that is full (connections, disk, memory), 08 a broken connection. Everything else is
 * the statement's own fault.
 */
export function reasonOfSqlState(sqlState: string): DatabaseFailure['reason'] {
  if (sqlState === '57014' || sqlState === '25P03' || sqlState === '55P03') return 'time-out';
  if (sqlState.startsWith('57P') || sqlState.startsWith('53') || sqlState.startsWith('08'))
    return 'unavailable';
  return 'refused';
}
