import type { AuditCheck } from './audit-check.ts';

/** Versions may leave gaps, where the line was changed; the balances may not. */
export const ledgerChainCheck: AuditCheck = {
  holds: 'each transaction goes on from the balance that the one before it left',
  faults: `select format('transaction %s of account %s leaves %s micro-credits, which is not %s and the %s before it',
      version, account_id, balance_after_micro, amount_micro, before)
    from (select *, coalesce(lag(balance_after_micro) over (partition by account_id order by version), 0) as before
      from credit_transactions) as chained
    where before::numeric + amount_micro <> balance_after_micro or version < 1`,
};
