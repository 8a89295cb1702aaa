import type { Database, Statements } from '../../ports/database.ts';
import { agreedPricesCheck, billingCheck, lotsCheck } from './account-checks.ts';
import { type AuditCheck, type CheckedBooks, type ComputedCheck, runCheck } from './audit-check.ts';
import { correctionsCheck, creditedInvoicesCheck, returnedUsageCheck } from './correction-checks.ts';
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
import { paymentRowsCheck } from './payment-row-checks.ts';
import { planCreditsCheck } from './plan-credits-check.ts';
import { PROOFS, type Proof } from './proofs/proofs.ts';
import { withRemedy } from './remedies.ts';
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

/** All checks of `turnpike audit`, in the order of its output. Add new checks here. */
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
  payersCheck,
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
  correctionsCheck,
  returnedUsageCheck,
  creditedInvoicesCheck,
  billingCheck,
  agreedPricesCheck,
  lotsCheck,
  postedUsageCheck,
  subjectDaysCheck,
  costSumsCheck,
  paymentRowsCheck,
];

interface AuditedCheck extends CheckedBooks {
  readonly check: AuditCheck | ComputedCheck;
}

/** Yields the result of each check, in order. `isExact` runs every check itself, without the faster proofs. */
export async function* auditBooks(
  database: Database,
  { isExact = false } = {},
): AsyncGenerator<AuditedCheck> {
  const proofs = isExact ? [] : PROOFS;
  const tried = new Set<Proof>();
  const proved = new Set<AuditCheck | ComputedCheck>();
  for (const check of AUDIT_CHECKS) {
    for (const proof of proofs) {
      if (tried.has(proof) || !proof.checks.includes(check)) continue;
      tried.add(proof);
      for (const one of await proof.prove(database)) proved.add(one);
    }
    const found = proved.has(check) ? { faults: [], isCut: false } : await runCheck(database, check);
    yield { check, ...found, faults: found.faults.map((fault) => withRemedy(check, fault)) };
  }
}

interface BookSizes {
  readonly accounts: bigint;
  readonly transactions: bigint;
  readonly calls: bigint;
}

/** The current number of rows in the books, to report how much was checked. */
export async function sizeOfBooks(statements: Statements): Promise<BookSizes> {
  const [sizes] = await statements.query<BookSizes>(
    `select (select count(*) from credit_accounts) as accounts,
       (select count(*) from credit_transactions) as transactions, (select count(*) from calls) as calls`,
  );
  if (sizes === undefined) throw new Error('the books could not be counted');
  return sizes;
}
