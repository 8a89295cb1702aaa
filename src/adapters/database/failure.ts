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
