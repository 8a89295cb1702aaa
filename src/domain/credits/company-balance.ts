import type { Statements } from '../../ports/database.ts';

/** What a company holds, for people to see: holds of calls in flight are not taken off. */
export interface CompanyBalance {
  readonly companyId: string;
  readonly balanceMicro: bigint;
  readonly updatedAt: Date;
}

/** Null where there is no such account. */
export async function readBalance(statements: Statements, companyId: string): Promise<CompanyBalance | null> {
  const rows = await statements.query<CompanyBalance>(
    `select id as "companyId", balance_micro as "balanceMicro", updated_at as "updatedAt"
     from credit_accounts where id = $1`,
    [companyId],
  );
  return rows[0] ?? null;
}
