import { beforeAll, describe, expect, test } from 'bun:test';
import { monthlyInvoicesContract, TERMS } from '../../../../test/contracts/monthly-invoices.contract.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { postAt } from '../../../../test/doubles/posted-usage.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { openJobQueue } from '../../../adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import type { JobQueue } from '../../../ports/job-queue.ts';
import { addCompany } from '../../accounts/company.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { invoicesCheck, invoiceUsageCheck } from '../../reconciliation/ledger-checks.ts';
import { ALERTS_QUEUE, dispatchAlerts } from '../alerts/dispatch-alerts.ts';
import { postpaidTerms } from '../credit-work.ts';
import { setCompanyBilling } from '../ledger/credit-account.ts';
import { listInvoices, markInvoicePaid } from './invoice.ts';
import {
  INVOICE_ISSUED_QUEUE,
  invoiceAmountMinor,
  invoiceFinishedMonths,
  readPrice,
} from './monthly-invoices.ts';

describe('P-29 what usage costs', () => {
  const database = useDatabase();

  monthlyInvoicesContract('PGlite', () => database);

  test('it is exact, and rounded up once to the currency’s smallest unit', () => {
    for (const [usageMicro, terms, wanted] of [
      [1n, TERMS, 1n],
      [1_000_000n, TERMS, 1n],
      [1_000_001n, TERMS, 2n],
      [12_345_678_900_000n, TERMS, 12_345_679n],
      [1_000_000n, { ...TERMS, pricePerCredit: '0.0125' }, 2n],
      [100_000_000n, { ...TERMS, pricePerCredit: '3' }, 30_000n],
      [100_000_000n, { ...TERMS, minorPerMajor: 1n, pricePerCredit: '1.5' }, 150n],
      [1_000_000n, { ...TERMS, minorPerMajor: 1_000n, leastMinor: 10n, pricePerCredit: '0.001' }, 10n],
      [1_000_000n, { ...TERMS, leastMinor: 100n }, 100n],
    ] as const) {
      expect(invoiceAmountMinor(usageMicro, terms)).toBe(wanted);
    }
  });

  test('P-29 a POSTPAID company pays in the minor units of its currency', () => {
    const amounts = ['usd', 'jpy', 'kwd', 'isk'].map((currency) => {
      const terms = postpaidTerms({ currency, pricePerCredit: '0.0123', dueDays: 14 });
      return [currency, terms.minorPerMajor, terms.leastMinor, invoiceAmountMinor(1_000_000_001n, terms)];
    });
    expect(amounts).toEqual([
      // 12.3000000123 of each, rounded up to what can be paid.
      ['usd', 100n, 1n, 1_231n],
      ['jpy', 1n, 1n, 13n],
      ['kwd', 1_000n, 10n, 12_310n],
      ['isk', 100n, 100n, 1_300n],
    ]);
  });

  test.each(['0', '0.000', '', '-1', '1e3', '.5', '1.', '0.0000000000001', ' 1', 'x'])(
    '%p is no price',
    (text) => {
      expect(readPrice(text)).toBeNull();
    },
  );
});

describePostgres('with a server', () => {
  const { newId } = createSystemSecrets();
  const log = createSilentLog();
  const database = usePostgres({ poolSize: 16, beforeClose: () => jobQueue?.stop(0) });
  let jobQueue: JobQueue;
  beforeAll(async () => {
    jobQueue = await openJobQueue({ database, log });
    for (const queue of [INVOICE_ISSUED_QUEUE, ALERTS_QUEUE]) await jobQueue.define(queue);
  });

  monthlyInvoicesContract('PostgreSQL', () => database);

  async function addPostpaid(): Promise<string> {
    const companyId = newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'POSTPAID' });
    return companyId;
  }

  function partsAt(nowMs: number) {
    const clock = createManualClock(nowMs);
    const sharedState = createInProcessState({ clock, log });
    return { database, clock, log, sharedState, jobQueue, secrets: { newId }, terms: TERMS };
  }

  test('P-29 concurrent runs, calls and changes of the mode: every charge is in one invoice', async () => {
    const companyId = await addPostpaid();
    const parts = partsAt(Date.UTC(2031, 0, 2));
    const issuedBefore = (await jobQueue.counts(INVOICE_ISSUED_QUEUE.name)).waiting;
    const invoicesBefore = await database.query('select 1 from invoices');
    let isCalling = true;
    const callers = Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 60; n += 1) {
        await postAt(database, companyId, -1n, new Date(Date.UTC(2030, 0, 1) + n * 7_200_000).toISOString());
      }
    });
    const runners = Array.from({ length: 4 }, async () => {
      while (isCalling) expect((await invoiceFinishedMonths(parts)).failed).toEqual([]);
    });
    const changer = async () => {
      for (let n = 0; n < 10; n += 1) {
        await database.transaction((transaction) =>
          setCompanyBilling(transaction, companyId, 'POSTPAID', BigInt(n + 1)),
        );
      }
    };
    await Promise.all([...callers, changer()]);
    isCalling = false;
    await Promise.all(runners);
    // What was committed after its month was invoiced waits for the next one's end.
    for (let month = 0; month < 14; month += 1) {
      await parts.clock.advance(31 * 86_400_000);
      await invoiceFinishedMonths(parts);
    }
    const invoices = (await listInvoices(database, companyId)).toSorted((one, other) =>
      Number((one.firstVersion ?? 0n) - (other.firstVersion ?? 0n)),
    );
    expect(invoices.reduce((sum, { usageMicro }) => sum + (usageMicro ?? 0n), 0n)).toBe(360n);
    for (const [at, { firstVersion }] of invoices.entries()) {
      if (at > 0) expect(firstVersion ?? 0n).toBeGreaterThan(invoices[at - 1]?.lastVersion ?? 0n);
    }
    const made = (await database.query('select 1 from invoices')).length - invoicesBefore.length;
    expect((await jobQueue.counts(INVOICE_ISSUED_QUEUE.name)).waiting - issuedBefore).toBe(made);
  });

  test('P-29 an invoice that is paid fifty times at once posts its usage back once', async () => {
    const companyId = await addPostpaid();
    const parts = partsAt(Date.UTC(2030, 1, 2));
    await postAt(database, companyId, -7n, '2030-01-05T00:00:00Z');
    await invoiceFinishedMonths(parts);
    const [invoice] = await listInvoices(database, companyId);
    const pay = () =>
      database.transaction((transaction) =>
        markInvoicePaid(transaction, { invoiceId: invoice?.id ?? '', paidAt: new Date(parts.clock.now()) }),
      );
    const paid = await Promise.all(Array.from({ length: 50 }, pay));
    expect(paid.filter(({ outcome }) => outcome === 'settled')).toHaveLength(1);
    expect(paid.filter(({ outcome }) => outcome === 'already-settled')).toHaveLength(49);
    const rows = await database.query(
      "select amount_micro from credit_transactions where account_id = $1 and type = 'INVOICE_PAYMENT'",
      [companyId],
    );
    expect(rows).toEqual([{ amount_micro: 7n }]);
  });

  test('alerts dispatched by several processes at once become one job each', async () => {
    const companyId = await addPostpaid();
    await database.script('delete from credit_alerts');
    await database.query(
      `insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
       select $1, 'CREDIT_LINE', '', 80, n::text from generate_series(1, 450) as n`,
      [companyId],
    );
    const clock = createManualClock();
    const handOn = () => dispatchAlerts({ database, jobQueue, clock });
    const counts = await Promise.all([handOn(), handOn(), handOn(), handOn()]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(450);
    expect((await jobQueue.counts(ALERTS_QUEUE.name)).waiting).toBe(450);
    expect(await handOn()).toBe(0);
  });

  test('P-29 after all of it the audit finds no fault', async () => {
    for (const check of [invoiceUsageCheck, invoicesCheck]) {
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
    }
  });
});
