import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { addCompany } from './company.ts';
import { accountComplaint, insertUser } from './user.ts';

export interface WantedAccount {
  readonly companyName: string;
  readonly email: string;
  readonly password: string;
}

export type PreparedAccount =
  | { readonly outcome: 'prepared'; readonly account: Omit<WantedAccount, 'password'>; readonly hash: string }
  | { readonly outcome: 'bad-email' }
  | { readonly outcome: 'bad-password'; readonly message: string };

/** Outside of the transaction: the hash takes tens of milliseconds, in which a transaction would hold up others. */
export async function prepareSignUp(secrets: Secrets, wanted: WantedAccount): Promise<PreparedAccount> {
  const complaint = accountComplaint(wanted);
  if (complaint !== null) return complaint;
  const { password, ...account } = wanted;
  return { outcome: 'prepared', account, hash: await secrets.hashPassword(password) };
}

export type SignedUp =
  | {
      readonly outcome: 'signed-up';
      readonly companyId: string;
      readonly userId: string;
      readonly email: string;
    }
  /** Nothing may stay of what was written before: the caller rolls back. */
  | { readonly outcome: 'email-taken' };

/** A new company, whose first person is its admin. */
export async function signUp(
  statements: Statements,
  secrets: Secrets,
  { account, hash }: Extract<PreparedAccount, { outcome: 'prepared' }>,
): Promise<SignedUp> {
  const [companyId, userId] = [secrets.newId(), secrets.newId()];
  const email = account.email.trim();
  await addCompany(statements, { id: companyId, name: account.companyName, billingMode: 'PREPAID' });
  const person = { id: userId, companyId, email, role: 'COMPANY_ADMIN', isSuperAdmin: false } as const;
  const added = await insertUser(statements, { ...person, passwordHash: hash });
  return added.outcome === 'added' ? { outcome: 'signed-up', companyId, userId, email } : added;
}
