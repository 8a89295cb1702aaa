import type { Statements } from '../../ports/database.ts';
import { type CreditTransaction, listTransactions } from './list-transactions.ts';

/** What was posted for a source; null where nothing was. */
export async function findTransactionOf(
  statements: Statements,
  { sourceKind, sourceId }: { readonly sourceKind: string; readonly sourceId: string },
): Promise<CreditTransaction | null> {
  const [place] = await statements.query<{ accountId: string; version: bigint }>(
    `select account_id as "accountId", version from credit_transactions where source_kind = $1 and source_id = $2`,
    [sourceKind, sourceId],
  );
  if (place === undefined) return null;
  const [found] = await listTransactions(statements, place.accountId, {
    first: 1,
    after: place.version + 1n,
  });
  return found ?? null;
}
