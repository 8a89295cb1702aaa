import type { AuditCheck } from '../credits/audit-check.ts';

/** A call's id as text: those below it have no row any more. Nothing is below the empty text. */
export const RETIRED_BEFORE = "coalesce((select before_id::text from calls_retirement), '')";

/** The calls are gone, so single ones cannot be named: what a company was charged for them is one sum. */
export const retiredChargesCheck: AuditCheck = {
  holds: 'what companies were charged for calls that were let go of is what those had cost',
  faults: `select format('company %s was charged %s micro-credits for calls that were let go of, which had cost %s',
      company_id, coalesce(charged, 0), coalesce(cost, 0))
    from (select company_id, sum(charge_micro) as cost from retired_usage
      where key_id = '00000000-0000-0000-0000-000000000000' group by company_id) as retired
    full join (
      select account_id as company_id, -sum(amount_micro) as charged from credit_transactions as posted
      where source_kind = 'call' and source_id < ${RETIRED_BEFORE}
        and not exists (select 1 from calls where calls.id::text = posted.source_id)
      group by account_id) as posted using (company_id)
    where coalesce(cost, 0) <> coalesce(charged, 0)`,
};
