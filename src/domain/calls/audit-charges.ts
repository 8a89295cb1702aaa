import type { AuditCheck } from '../credits/audit-check.ts';
import { RETIRED_BEFORE } from './audit-retired-charges.ts';

/**
 * A source is posted once at most, by the ledger's own constraint: so one that is there is the only one. Calls that were
 * let go of are not missed here; their sums are held against the ledger by `retiredChargesCheck`.
 */
export const chargesCheck: AuditCheck = {
  holds: 'every charged call has one USAGE transaction of its amount, and there is no other',
  faults: `select case
      when call.id is null then format('transaction %s of account %s charges for call %s, which is not a charged one',
        posted.version, posted.account_id, posted.source_id)
      when posted.source_id is null then format('call %s of company %s costs %s micro-credits and was not charged',
        call.id, call.company_id, call.charge_micro)
      else format('call %s of company %s costs %s micro-credits; transaction %s of account %s has the amount %s',
        call.id, call.company_id, call.charge_micro, posted.version, posted.account_id, posted.amount_micro) end
    from (select id, company_id, charge_micro from calls where charge_micro <> 0) as call
    full join (select account_id, version, amount_micro, source_kind, source_id from credit_transactions
      where source_kind = 'call' or type = 'USAGE') as posted on posted.source_id = call.id::text
    where (call.id is null and not (source_kind = 'call' and source_id < ${RETIRED_BEFORE})) or source_id is null
      or posted.amount_micro <> -call.charge_micro or posted.account_id <> call.company_id`,
};
