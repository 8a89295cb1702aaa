import type { DatabaseFailure } from '../../../ports/database.ts';

/**
 * Whether the database refused rows for what they contain: SQLSTATE class 22 (data exception) or 23 (constraint
 * violation). Every other failure (a rotated password, a revoked privilege, a read-only server, a missing function, an
 * error that is not the database's) says nothing about the calls, which must not be dropped for it.
 */
export function isRefusedRow(error: unknown): boolean {
  const { name, reason, sqlState } = error as Partial<DatabaseFailure>;
  if (name !== 'DatabaseFailure' || reason !== 'refused') return false;
  return sqlState?.startsWith('22') === true || sqlState?.startsWith('23') === true;
}

/** A failure of the database that says nothing about what it was given. */
export function isDatabaseFault(error: unknown): boolean {
  return (error as Partial<DatabaseFailure>).name === 'DatabaseFailure' && !isRefusedRow(error);
}
