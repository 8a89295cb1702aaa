import type { DatabaseFailure } from '../../../ports/database.ts';

/**
 * Whether the database refused rows because of their content: SQLSTATE class 22 (data exception) or 23 (constraint
 * violation). Every other failure (a rotated password, a revoked privilege, a read-only server, a missing function, an error
 * that is not the database's) is not about the calls, which must not be dropped because of it.
 */
export function isRefusedRow(error: unknown): boolean {
  const { name, reason, sqlState } = error as Partial<DatabaseFailure>;
  if (name !== 'DatabaseFailure' || reason !== 'refused') return false;
  return sqlState?.startsWith('22') === true || sqlState?.startsWith('23') === true;
}

/**
 * Sends each half of a group again after the database refused it because of a row, down to that row, which is refused alone.
 * With one bad row of 500, the others are written by about twenty statements. A result of `send` other than null or undefined
 * ends it.
 */
export async function sendInHalves<One, Result>(
  group: readonly One[],
  error: unknown,
  send: (some: readonly One[]) => Promise<Result>,
  refuse: (one: One, error: unknown) => Result | Promise<Result>,
): Promise<Result> {
  const middle = group.length >> 1;
  if (middle === 0) return await refuse(group[0] as One, error);
  return (await send(group.slice(0, middle))) ?? (await send(group.slice(middle)));
}

/** A failure of the database that is not about the given rows. */
export function isDatabaseFault(error: unknown): boolean {
  return (error as Partial<DatabaseFailure>).name === 'DatabaseFailure' && !isRefusedRow(error);
}
