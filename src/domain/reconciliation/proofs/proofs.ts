import type { Database } from '../../../ports/database.ts';
import { type AuditCheck, type ComputedCheck, readForLong } from '../audit-check.ts';
import { totalsCheck } from '../credit-totals.ts';
import { balanceCheck, ledgerChainCheck, ledgerTotalCheck } from '../ledger-checks.ts';
import { sealsCheck } from '../seal-checks.ts';
import {
  chargesCheck,
  costDaysCheck,
  keyMonthsCheck,
  payersCheck,
  pricesCheck,
  subjectMonthsCheck,
  usageDaysCheck,
  usageMonthsCheck,
  usageSubjectsCheck,
} from '../usage-checks.ts';
import { isLedgerSound, isViewOfBothSidesSound } from './ledger-proof.ts';
import { proveUsage } from './usage-proof.ts';

type Check = AuditCheck | ComputedCheck;

/**
 * Proves several checks in one pass over the data that they read. A proof can only confirm a check: if it does not, the
 * check itself is run and names the faults.
 */
export interface Proof {
  readonly checks: readonly Check[];
  /** The checks that are proved. */
  prove(database: Database): Promise<readonly Check[]>;
}

const LEDGER_CHECKS = [balanceCheck, ledgerChainCheck, sealsCheck, totalsCheck];

const ledgerProof: Proof = {
  checks: [...LEDGER_CHECKS, ledgerTotalCheck],
  async prove(database) {
    if (!(await isLedgerSound(database))) return [];
    return (await isViewOfBothSidesSound(database)) ? this.checks : LEDGER_CHECKS;
  },
};

const usageProof = proofOf(proveUsage, {
  charges: chargesCheck,
  prices: pricesCheck,
  payers: payersCheck,
  days: usageDaysCheck,
  costs: costDaysCheck,
  subjects: usageSubjectsCheck,
  spending: subjectMonthsCheck,
  months: usageMonthsCheck,
  keys: keyMonthsCheck,
});

export const PROOFS: readonly Proof[] = [ledgerProof, usageProof];

function proofOf<Name extends string>(
  prove: (...given: Parameters<typeof proveUsage>) => Promise<Readonly<Record<Name, boolean>>>,
  checks: Readonly<Record<Name, Check>>,
): Proof {
  const named = Object.entries(checks) as [Name, Check][];
  return {
    checks: named.map(([, check]) => check),
    async prove(database) {
      const holds = await readForLong(database, prove);
      return named.filter(([name]) => holds[name]).map(([, check]) => check);
    },
  };
}
