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

/**
 * After the database has refused a group for a row in it: each half is sent again, and so on down to the row, which is refused by
 * itself. So the others are written by some twenty statements where one of 500 is bad. What `send` returns but null ends it.
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

/** A failure of the database that says nothing about what it was given. */
export function isDatabaseFault(error: unknown): boolean {
  return (error as Partial<DatabaseFailure>).name === 'DatabaseFailure' && !isRefusedRow(error);
}
