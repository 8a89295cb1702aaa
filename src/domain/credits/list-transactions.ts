import type { Statements } from '../../ports/database.ts';
import type { ContraAccount, TransactionType } from './post-transaction.ts';

export interface CreditTransaction {
  readonly accountId: string;
  /** Its place among the account's transactions and changes of the line. */
  readonly version: bigint;
  readonly type: TransactionType;
  readonly amountMicro: bigint;
  readonly balanceAfterMicro: bigint;
  readonly contra: ContraAccount;
  readonly sourceKind: string;
  readonly sourceId: string;
  readonly reason: string | null;
  readonly createdAt: Date;
}

export interface TransactionPage {
  /** From 1 to 1,000. */
  readonly first: number;
  /** The version of the last one of the page before. */
  readonly after?: bigint | null;
}

const MOST_AT_ONCE = 1_000;

/** The newest first. An account that does not exist has none. */
export async function listTransactions(
  statements: Statements,
  accountId: string,
  { first, after }: TransactionPage,
): Promise<readonly CreditTransaction[]> {
  return await statements.query<CreditTransaction>(
    `select account_id as "accountId", version, type, amount_micro as "amountMicro",
       balance_after_micro as "balanceAfterMicro", contra, source_kind as "sourceKind", source_id as "sourceId",
       reason, created_at as "createdAt"
     from credit_transactions
     where account_id = $1 and version < coalesce($2::bigint, 9223372036854775807)
     order by version desc limit $3`,
    [accountId, after ?? null, Math.min(Math.max(Math.trunc(first), 1), MOST_AT_ONCE)],
  );
}
