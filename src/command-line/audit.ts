import { chargesCheck } from '../domain/calls/audit-charges.ts';
import { keyMonthsCheck } from '../domain/calls/audit-key-months.ts';
import { pricesCheck } from '../domain/calls/audit-prices.ts';
import { retiredChargesCheck } from '../domain/calls/audit-retired-charges.ts';
import { usageDaysCheck } from '../domain/calls/audit-usage-days.ts';
import { usageMonthsCheck } from '../domain/calls/usage-report-audit.ts';
import { balanceCheck } from '../domain/credits/audit-balances.ts';
import { type AuditCheck, runCheck } from '../domain/credits/audit-check.ts';
import { grantsCheck } from '../domain/credits/audit-grants.ts';
import { invoicesCheck } from '../domain/credits/audit-invoices.ts';
import { ledgerChainCheck } from '../domain/credits/audit-ledger-chain.ts';
import { ledgerTotalCheck } from '../domain/credits/audit-ledger-total.ts';
import { refundsCheck } from '../domain/credits/audit-refunds.ts';
import { invoiceUsageCheck } from '../domain/credits/invoice-audit.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

/** Whoever keeps books that must agree with others adds a check, a file each. */
export const AUDIT_CHECKS: readonly AuditCheck[] = [
  balanceCheck,
  ledgerChainCheck,
  ledgerTotalCheck,
  chargesCheck,
  retiredChargesCheck,
  pricesCheck,
  usageDaysCheck,
  usageMonthsCheck,
  keyMonthsCheck,
  invoiceUsageCheck,
  invoicesCheck,
  grantsCheck,
  refundsCheck,
];

export const auditCommand: Command = {
  name: 'audit',
  usage: '[--verbose]',
  summary: 'Proves that the books balance; else one line for each fault, and exit code 1.',
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    const isVerbose = words[0] === '--verbose';
    if (words.length > (isVerbose ? 1 : 0)) {
      terminal.complain('usage: turnpike audit [--verbose]');
      return EXIT_USAGE;
    }
    let faultCount = 0;
    for (const check of AUDIT_CHECKS) {
      const { faults, isCut } = await runCheck(database, check);
      for (const fault of faults) terminal.complain(fault);
      if (isCut) terminal.complain(`and more faults of this kind than ${faults.length}`);
      if (isVerbose && faults.length === 0) terminal.print(`checked that ${check.holds}`);
      faultCount += faults.length;
    }
    if (faultCount > 0) {
      terminal.complain(`the books do not balance: ${faultCount} faults`);
      return EXIT_FAILED;
    }
    const [sizes] = await database.query<{ accounts: bigint; transactions: bigint; calls: bigint }>(
      `select (select count(*) from credit_accounts) as accounts,
         (select count(*) from credit_transactions) as transactions, (select count(*) from calls) as calls`,
    );
    terminal.print(
      `the books balance: ${sizes?.accounts} accounts, ${sizes?.transactions} transactions, ${sizes?.calls} calls`,
    );
    return EXIT_OK;
  },
};
