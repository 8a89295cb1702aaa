import type { Statements } from '../../ports/database.ts';
import { type AccountLevel, LEVEL_COLUMNS, spendable } from './account-level.ts';
import type { CompanyBalance } from './company-balance.ts';
import { GOOD_STANDING, isBlocked, readStandings } from './standing.ts';

/** Whether a company's calls are answered, in a word: refused with 403 where OVERDUE, with 402 where OUT_OF_CREDITS. */
export type StandingWord = 'GOOD' | 'OUT_OF_CREDITS' | 'OVERDUE';

export interface CompanyStanding {
  readonly balance: CompanyBalance;
  readonly word: StandingWord;
}

/** Of many companies at once. A company without an account is not among them. */
export async function readCompanyStandings(
  statements: Statements,
  companyIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, CompanyStanding>> {
  const accounts = await statements.query<AccountLevel & { readonly updatedAt: Date }>(
    `select ${LEVEL_COLUMNS}, updated_at as "updatedAt" from credit_accounts where id = any($1::uuid[])`,
    [companyIds],
  );
  const owed = await readStandings(statements, companyIds);
  return new Map(
    accounts.map((account) => {
      const { accountId, balanceMicro, updatedAt } = account;
      const isOverdue = isBlocked(owed.get(accountId) ?? GOOD_STANDING, nowMs);
      const word = isOverdue ? 'OVERDUE' : spendable(account) > 0 ? 'GOOD' : 'OUT_OF_CREDITS';
      return [accountId, { balance: { companyId: accountId, balanceMicro, updatedAt }, word }];
    }),
  );
}
