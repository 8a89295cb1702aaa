import { beforeAll, expect, test } from 'bun:test';
import { TERMS } from '../../../test/contracts/monthly-invoices.contract.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { postAt } from '../../../test/doubles/posted-usage.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany } from '../accounts/company.ts';
import { listInvoices, markInvoicePaid, voidInvoice } from '../credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../credits/invoices/monthly-invoices.ts';
import { type AuditCheck, runCheck } from './audit-check.ts';
import { invoicesCheck, invoiceUsageCheck } from './ledger-checks.ts';

const { newId } = createSystemSecrets();
const companyId = newId();
const database = useDatabase();

beforeAll(async () => {
  const clock = createManualClock(Date.UTC(2030, 4, 2));
  const log = createSilentLog();
  const jobQueue = { enqueue: async () => null };
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'POSTPAID' });
  for (const month of ['01', '02', '03', '05'])
    await postAt(database, companyId, -5n, `2030-${month}-01T00:00:00Z`);
  const sharedState = createInProcessState({ clock, log });
  await invoiceFinishedMonths({
    database,
    clock,
    log,
    sharedState,
    jobQueue,
    secrets: { newId },
    terms: TERMS,
  });
  const [, second, first] = await listInvoices(database, companyId);
  await database.transaction((transaction) =>
    markInvoicePaid(transaction, { invoiceId: first?.id ?? '', paidAt: new Date(clock.now()) }),
  );
  await database.transaction((transaction) =>
    voidInvoice(transaction, { invoiceId: second?.id ?? '', reason: 'a mistake' }),
  );
});

/** What is found while `damage` is done, which is undone again. */
async function faultsAfter(check: AuditCheck, damage: string): Promise<readonly string[]> {
  let faults: readonly string[] = [];
  await database
    .transaction(async (transaction) => {
      await transaction.script(`set local session_replication_role = replica; ${damage}`);
      const within = {
        ...database,
        transaction: <T>(work: (t: typeof transaction) => Promise<T>) => work(transaction),
      };
      ({ faults } = await runCheck(within, check));
      throw new Error('undone');
    })
    .catch((error: Error) => expect(error.message).toBe('undone'));
  return faults;
}

test('P-29 books of invoices that are right have no fault', async () => {
  for (const check of [invoiceUsageCheck, invoicesCheck]) {
    expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
  }
});

test.each([
  [
    'more is asked for',
    invoiceUsageCheck,
    'update invoices set usage_micro = usage_micro + 1 where first_version = 1',
    'asks for 6',
  ],
  [
    'an invoice is lost',
    invoiceUsageCheck,
    'delete from invoices where first_version = 1',
    'and invoices for 10',
  ],
  [
    'usage is skipped',
    invoiceUsageCheck,
    'update postpaid_spans set invoiced_version = 4',
    '20 micro-credits of usage',
  ],
  [
    'a payment is lost',
    invoicesCheck,
    "delete from credit_transactions where source_kind = 'invoice'",
    'are not given back',
  ],
  [
    'another amount is given back',
    invoicesCheck,
    "update credit_transactions set amount_micro = 4 where source_kind = 'invoice-void'",
    'has the amount 4',
  ],
  [
    'a payment without its invoice',
    invoicesCheck,
    "update invoices set status = 'OPEN' where status = 'PAID'",
    'is not settled so',
  ],
] as const)('P-29 the audit finds it where %s', async (_, check, damage, named) => {
  expect((await faultsAfter(check, damage)).join('\n')).toContain(named);
});
