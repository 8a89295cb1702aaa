import { agreedPricesCheck, billingCheck, lotsCheck } from './account-checks.ts';
import type { AuditCheck, ComputedCheck } from './audit-check.ts';
import { correctionsCheck, creditedInvoicesCheck, returnedUsageCheck } from './correction-checks.ts';
import {
  balanceCheck,
  expiredCreditsCheck,
  invoicesCheck,
  invoiceUsageCheck,
  ledgerChainCheck,
  ledgerTotalCheck,
  userTransfersCheck,
} from './ledger-checks.ts';
import { paymentRowsCheck } from './payment-row-checks.ts';
import { oldSealsCheck, sealsCheck } from './seal-checks.ts';
import { costSumsCheck, postedUsageCheck, subjectDaysCheck } from './sum-checks.ts';
import {
  chargesCheck,
  costDaysCheck,
  keyMonthsCheck,
  payersCheck,
  pricesCheck,
  retiredChargesCheck,
  subjectMonthsCheck,
  usageDaysCheck,
  usageMonthsCheck,
  usageSubjectsCheck,
} from './usage-checks.ts';

const MEND = '. To mend it: ';
const AGAIN = 'the job "usage-months" adds it up again';

/** What to do about the faults of checks that do not say it themselves. */
const REMEDIES: readonly (readonly [remedy: string, checks: readonly (AuditCheck | ComputedCheck)[]])[] = [
  [
    'compare the account with a backup ("turnpike statement" lists its transactions) and restore the rows that were changed; no command rewrites the ledger',
    [balanceCheck, ledgerChainCheck, sealsCheck, oldSealsCheck, ledgerTotalCheck],
  ],
  [
    'compare the call, its price and its transaction with a backup, and restore the row that was changed; "turnpike adjust-credits" settles with the company what cannot be restored',
    [chargesCheck, retiredChargesCheck, pricesCheck, payersCheck],
  ],
  [
    'restore the calls first, if charges or prices differ too; otherwise set the stored sums to those of the calls',
    [usageDaysCheck, costDaysCheck, keyMonthsCheck, usageSubjectsCheck, subjectMonthsCheck, subjectDaysCheck],
  ],
  [`delete the month of this company from usage_months_done: ${AGAIN}`, [usageMonthsCheck]],
  [
    `delete the day from platform_days_done, or the month from company_cost_months_done: ${AGAIN}`,
    [costSumsCheck],
  ],
  [
    'compare the invoice and the rows of postpaid_spans with "turnpike statement" and with a backup, and restore them; "turnpike void-invoice" cancels an invoice that asks for too much',
    [invoiceUsageCheck],
  ],
  [
    '"turnpike mark-invoice-paid" or "turnpike void-invoice" posts what is missing; otherwise restore the invoice from a backup',
    [invoicesCheck],
  ],
  [
    'restore the amount of the invoice from a backup, or cancel it with "turnpike void-invoice"',
    [agreedPricesCheck],
  ],
  [
    'compare the lot with the transactions of its account ("turnpike statement") and with a backup, and restore it',
    [expiredCreditsCheck, lotsCheck],
  ],
  [
    'compare both accounts with a backup, and restore the side that is missing or was changed',
    [userTransfersCheck],
  ],
  [
    'restore the row of companies, credit_accounts or postpaid_spans from a backup; "turnpike set-billing" changes how the company pays from now on',
    [billingCheck],
  ],
  [
    'compare "turnpike withheld-usage" with a backup, and restore the row or the transaction that was changed',
    [postedUsageCheck],
  ],
  [
    'compare charge_corrections and invoice_credits with the audit log ("charge.corrected", "calls.rerated") and with a backup, and restore the row that was changed',
    [correctionsCheck, returnedUsageCheck, creditedInvoicesCheck],
  ],
  [
    'compare these rows with a backup and with the payment provider ("turnpike audit --provider"), and restore the one that was changed',
    [paymentRowsCheck],
  ],
];

export function withRemedy(check: AuditCheck | ComputedCheck, fault: string): string {
  const [remedy] = REMEDIES.find(([, checks]) => checks.includes(check)) ?? [];
  return remedy === undefined || fault.includes(MEND) ? fault : `${fault}${MEND}${remedy}`;
}
