import type { Transaction } from '../../ports/database.ts';
import type { BillingMode } from '../accounts/company.ts';
import { type AccountLevel, LEVEL_COLUMNS } from './account-level.ts';
import { accountAlerts } from './threshold-alerts.ts';

export type ChangedBilling =
  /** The caller publishes the level after its commit. */
  | { readonly outcome: 'changed' | 'unchanged'; readonly level: AccountLevel }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'wrong-limit'; readonly problem: string };

const MOST = 2n ** 63n - 1n;

/**
 * Changes how a company pays. A PREPAID one has no credit line, whatever limit is given; the limit of a POSTPAID one
 * is its line, null for no end. From the change on its usage is invoiced, or no longer; what it used before is
 * treated as before, so usage of POSTPAID times is still invoiced at the end of the month.
 *
 * The account is locked before the company, as by everyone who locks both.
 */
export async function setCompanyBilling(
  transaction: Transaction,
  companyId: string,
  mode: BillingMode,
  creditLimitMicro: bigint | null,
): Promise<ChangedBilling> {
  const limit = mode === 'PREPAID' ? null : creditLimitMicro;
  if (limit !== null && (limit < 0n || limit > MOST)) {
    return { outcome: 'wrong-limit', problem: 'a credit limit is zero or more, or none at all' };
  }
  const [level] = await transaction.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1 and owner = 'COMPANY' for update`,
    [companyId],
  );
  if (level === undefined) return { outcome: 'no-such-company' };
  const changed = await transaction.query(
    `update companies set billing_mode = $2, credit_limit_micro = $3, updated_at = now()
     where id = $1 and (billing_mode, credit_limit_micro) is distinct from ($2::text, $3::bigint) returning id`,
    [companyId, mode, limit],
  );
  if (changed.length === 0) return { outcome: 'unchanged', level };
  return {
    outcome: 'changed',
    level: await writeLine(transaction, companyId, mode === 'PREPAID' ? 0n : limit),
  };
}

/** A smaller line may be used up by more than a threshold already: that is said as if calls had done it. */
async function writeLine(
  transaction: Transaction,
  companyId: string,
  lineMicro: bigint | null,
): Promise<AccountLevel> {
  const [level] = await transaction.query<AccountLevel>(
    `with changed as (
       update credit_accounts set line_micro = $2, version = version + 1, updated_at = now() where id = $1
       returning ${LEVEL_COLUMNS}, id, 0::bigint as before, balance_micro as after, line_micro as line,
         topped_up_micro as topped_up, topped_up_version, to_char(now() at time zone 'utc', 'YYYY-MM') as month),
     alerts as (
       insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
       ${accountAlerts('changed')}
       on conflict do nothing)
     select "accountId", "balanceMicro", "lineMicro", version from changed`,
    [companyId, lineMicro],
  );
  if (level === undefined) throw new Error('a locked account has disappeared');
  return level;
}
