import { passwordComplaint } from '../../domain/accounts/user.ts';
import { bounded } from './bounded-input.ts';
import { badInput } from './refusals.ts';
import type { RequestContext } from './request-context.ts';

/** A password that somebody chose; BAD_USER_INPUT where it is too short or too long. */
export function newPassword(field: string, value: unknown): string {
  const password = bounded('secret', field, value);
  const complaint = passwordComplaint(password);
  if (complaint !== null) throw badInput(field, complaint);
  return password;
}

/** Its hash, made before any transaction: it takes tens of milliseconds. */
export async function hashNewPassword(
  context: RequestContext,
  field: string,
  value: unknown,
): Promise<string> {
  return await context.parts.secrets.hashPassword(newPassword(field, value));
}
