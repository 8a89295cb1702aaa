import type { Statements } from '../../ports/database.ts';
import type { AuditCheck, ComputedCheck } from './audit-check.ts';
import { totalsCheck } from './credit-totals.ts';
import {
  balanceCheck,
  expiredCreditsCheck,
  invoicesCheck,
  invoiceUsageCheck,
  ledgerChainCheck,
  ledgerTotalCheck,
  userTransfersCheck,
} from './ledger-checks.ts';
import { cashCheck, disputesCheck, grantsCheck, purchaseRatesCheck, refundsCheck } from './money-checks.ts';
import { planCreditsCheck } from './plan-credits-check.ts';
import { oldSealsCheck, sealsCheck } from './seal-checks.ts';
import {
  chargesCheck,
  costDaysCheck,
  keyMonthsCheck,
  pricesCheck,
  retiredChargesCheck,
  subjectMonthsCheck,
  usageDaysCheck,
  usageMonthsCheck,
  usageSubjectsCheck,
} from './usage-checks.ts';

/** All that `turnpike audit` proves, in the order of its output. A new check gets a row here. */
export const AUDIT_CHECKS: readonly (AuditCheck | ComputedCheck)[] = [
  balanceCheck,
  ledgerChainCheck,
  sealsCheck,
  oldSealsCheck,
  ledgerTotalCheck,
  totalsCheck,
  chargesCheck,
  retiredChargesCheck,
  pricesCheck,
  usageDaysCheck,
  usageMonthsCheck,
  costDaysCheck,
  keyMonthsCheck,
  usageSubjectsCheck,
  subjectMonthsCheck,
  invoiceUsageCheck,
  invoicesCheck,
  grantsCheck,
  purchaseRatesCheck,
  planCreditsCheck,
  expiredCreditsCheck,
  refundsCheck,
  disputesCheck,
  cashCheck,
  userTransfersCheck,
];

interface BookSizes {
  readonly accounts: bigint;
  readonly transactions: bigint;
  readonly calls: bigint;
}

/** How much was proved: the rows of the books at this moment. */
export async function sizeOfBooks(statements: Statements): Promise<BookSizes> {
  const [sizes] = await statements.query<BookSizes>(
    `select (select count(*) from credit_accounts) as accounts,
       (select count(*) from credit_transactions) as transactions, (select count(*) from calls) as calls`,
  );
  if (sizes === undefined) throw new Error('the books could not be counted');
  return sizes;
}
