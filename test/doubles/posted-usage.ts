import type { Statements } from '../../src/ports/database.ts';

/**
 * A transaction as the ledger would have written it at that time; chargeCalls and postTransaction only write the
 * present. Below zero is usage, above an adjustment. Its version.
 */
export async function postAt(
  statements: Statements,
  accountId: string,
  amountMicro: bigint,
  at: string,
): Promise<bigint> {
  const [row] = await statements.query<{ version: bigint }>(
    `with account as (
       update credit_accounts set balance_micro = balance_micro + $2, version = version + 1 where id = $1
       returning id, balance_micro, version)
     insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra,
       source_kind, source_id, created_at)
     select id, version, case when $2 < 0 then 'USAGE' else 'ADJUSTMENT' end, $2, balance_micro,
       case when $2 < 0 then 'usage' else 'adjustments' end, 'test', gen_random_uuid()::text, $3::timestamptz
     from account returning version`,
    [accountId, amountMicro, new Date(at)],
  );
  if (row === undefined) throw new Error(`there is no account ${accountId}`);
  return row.version;
}
