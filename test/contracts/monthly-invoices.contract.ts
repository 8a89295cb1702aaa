import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany, type BillingMode } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { listInvoices } from '../../src/domain/credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { setCompanyBilling } from '../../src/domain/credits/ledger/credit-account.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { invoiceUsageCheck } from '../../src/domain/reconciliation/ledger-checks.ts';
import type { Database, Transaction } from '../../src/ports/database.ts';
import { leastIdAt } from '../../src/ports/secrets.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { postAt } from '../doubles/posted-usage.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';

const { newId } = createSystemSecrets();
export const TERMS = {
  currency: 'usd',
  minorPerMajor: 100n,
  leastMinor: 1n,
  pricePerCredit: '0.01',
  dueDays: 14,
};
const CREDIT = 1_000_000n;

/** Every USAGE of POSTPAID times in exactly one invoice, whatever runs when. */
export function monthlyInvoicesContract(engine: string, given: () => Database): void {
  async function open(mode: BillingMode = 'POSTPAID', now = '2030-04-10T00:00:00Z') {
    const database = given();
    const clock = createManualClock(Date.parse(now));
    const { log, entries } = createRecordingLog();
    const sharedState = createInProcessState({ clock, log });
    const issued: string[] = [];
    const jobQueue = {
      async enqueue(_queue: string, data: { readonly [name: string]: unknown }) {
        issued.push(String(data.invoiceId));
        return 'job';
      },
    };
    const companyId = newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: mode });
    const parts = { database, clock, log, sharedState, jobQueue, secrets: { newId }, terms: TERMS };
    return {
      parts,
      clock,
      entries,
      issued,
      companyId,
      use: (micro: bigint, at: string) => postAt(database, companyId, -micro, at),
      /** A call of 76 micro-credits that began before it was charged. */
      async call(startedAt: string, chargedAt: string) {
        const startedAtMs = Date.parse(startedAt);
        const id = `${leastIdAt(startedAtMs).slice(0, 14)}7${newId().slice(15)}`;
        await chargeCalls(database, [finishedCall(companyId, { id, startedAtMs })]);
        await database.transaction(async (transaction) => {
          await transaction.query('set local session_replication_role = replica');
          await transaction.query(
            "update credit_transactions set created_at = $2 where source_kind = 'call' and source_id = $1",
            [id, new Date(chargedAt)],
          );
        });
      },
      audited: async () => (await runCheck(database, invoiceUsageCheck)).faults,
      top: (micro: bigint, at: string) => postAt(database, companyId, micro, at),
      run: (until?: string) =>
        invoiceFinishedMonths(parts, until === undefined ? {} : { until: new Date(until) }),
      bill: (to: BillingMode) =>
        database.transaction((transaction) => setCompanyBilling(transaction, companyId, to, null)),
      async invoices() {
        const all = await listInvoices(database, companyId);
        return all
          .map(({ periodStart, usageMicro }) => [periodStart?.toISOString().slice(0, 7), usageMicro] as const)
          .sort();
      },
    };
  }

  describe(`monthly invoices on ${engine}`, () => {
    test('P-29 a month is invoiced after its end, once, OPEN and due in two weeks', async () => {
      const { use, run, invoices, issued, clock, companyId, parts } = await open();
      await use(5n * CREDIT, '2030-03-01T00:00:00Z');
      await use(5n * CREDIT + 1n, '2030-03-31T23:59:59.999Z');
      await use(7n * CREDIT, '2030-04-01T00:00:00Z');
      await run();
      await run();
      expect(await invoices()).toEqual([['2030-03', 10n * CREDIT + 1n]]);
      const [invoice] = await listInvoices(parts.database, companyId);
      // 10.000001 credits are 10.000001 cents, rounded up once.
      expect(invoice).toMatchObject({ kind: 'POSTPAID', status: 'OPEN', amountMinor: 11n, currency: 'usd' });
      expect(invoice).toMatchObject({ firstVersion: 1n, lastVersion: 2n, periodEnd: new Date('2030-04-01') });
      expect(invoice?.dueAt?.getTime()).toBe(clock.now() + 14 * 86_400_000);
      expect(issued.filter((id) => id === invoice?.id)).toHaveLength(1);
      await clock.advance(25 * 86_400_000);
      await run();
      expect(await invoices()).toEqual([
        ['2030-03', 10n * CREDIT + 1n],
        ['2030-04', 7n * CREDIT],
      ]);
    });

    test('P-29 missed months are invoiced later, each with its own invoice', async () => {
      const { use, top, run, invoices } = await open();
      await use(1n, '2029-11-05T00:00:00Z');
      await top(100n, '2029-12-24T00:00:00Z');
      await use(2n, '2030-01-31T23:00:00Z');
      await use(4n, '2030-02-01T00:00:00Z');
      await run('2030-02-01T00:00:00Z');
      expect(await invoices()).toEqual([
        ['2029-11', 1n],
        ['2030-01', 2n],
      ]);
      await run();
      expect(await invoices()).toEqual([
        ['2029-11', 1n],
        ['2030-01', 2n],
        ['2030-02', 4n],
      ]);
    });

    test('P-29 usage committed after its month was invoiced goes into the next', async () => {
      const { use, run, invoices, clock } = await open();
      await use(1n, '2030-03-31T23:59:58Z');
      await run();
      await use(2n, '2030-03-31T23:59:59Z');
      await use(4n, '2030-04-02T00:00:00Z');
      await run();
      expect(await invoices()).toEqual([['2030-03', 1n]]);
      await clock.advance(25 * 86_400_000);
      await run();
      expect(await invoices()).toEqual([
        ['2030-03', 1n],
        ['2030-04', 6n],
      ]);
    });

    test('P-29 a call belongs to the month in which it began, also if it is charged after midnight', async () => {
      const { use, call, run, invoices, audited, clock, companyId, parts } = await open();
      await use(1n, '2030-03-31T23:00:00Z');
      await use(2n, '2030-04-01T00:00:01Z');
      await call('2030-03-31T23:59:59.999Z', '2030-04-01T00:10:00Z');
      await call('2030-04-01T00:00:00Z', '2030-04-01T00:10:01Z');
      await call('2030-03-31T23:59:59.999Z', '2030-04-01T00:10:02Z');
      await run();
      expect(await invoices()).toEqual([['2030-03', 153n]]);
      expect(await audited()).toEqual([]);
      // Its invoice is made: it goes into the next.
      await call('2030-03-31T23:59:59.999Z', '2030-04-01T00:10:03Z');
      await clock.advance(25 * 86_400_000);
      await run();
      expect(await invoices()).toEqual([
        ['2030-03', 153n],
        ['2030-04', 154n],
      ]);
      expect(await audited()).toEqual([]);
      const [used] = await parts.database.query(
        `select string_agg(to_char(day, 'MM') || ' ' || charge_micro, ', ' order by day) as months
         from usage_days where company_id = $1`,
        [companyId],
      );
      expect(used).toEqual({ months: '03 228, 04 76' });
    });

    test('P-29 a month whose only calls were charged after its end has an invoice', async () => {
      const { call, use, run, invoices, audited, clock } = await open();
      await use(1n, '2030-04-01T00:00:01Z');
      await call('2030-03-31T23:59:59Z', '2030-04-01T00:10:00Z');
      await run();
      await clock.advance(25 * 86_400_000);
      await run();
      expect(await invoices()).toEqual([
        ['2030-03', 76n],
        ['2030-04', 1n],
      ]);
      expect(await audited()).toEqual([]);
    });

    test('P-29 a run that dies in the middle has no effect, and the next one does all of it', async () => {
      const { use, parts, run, invoices } = await open();
      await use(3n, '2030-03-01T00:00:00Z');
      let statements = 0;
      for (let dieAt = 1; dieAt < 12; dieAt += 1) {
        statements = 0;
        const dying = {
          ...parts.database,
          transaction: <T>(work: (transaction: Transaction) => Promise<T>) =>
            parts.database.transaction((transaction) =>
              work({
                ...transaction,
                query(text, values) {
                  statements += 1;
                  if (statements === dieAt) return Promise.reject(new Error('killed'));
                  return transaction.query(text, values);
                },
              }),
            ),
        };
        await invoiceFinishedMonths({ ...parts, database: dying }).catch(() => {});
        if ((await invoices()).length > 0) break;
      }
      expect(statements).toBeGreaterThan(4);
      await run();
      expect(await invoices()).toEqual([['2030-03', 3n]]);
    });

    test('P-29 a company that cannot be invoiced does not block the invoices of others', async () => {
      const [bad, good] = [await open(), await open()];
      await bad.use(1n, '2030-03-01T00:00:00Z');
      await good.use(2n, '2030-03-01T00:00:00Z');
      const failing = {
        ...bad.parts,
        jobQueue: {
          async enqueue(
            _: string,
            data: { readonly [name: string]: unknown },
            { within }: { within?: Transaction } = {},
          ) {
            const [row] =
              (await within?.query('select company_id from invoices where id = $1', [
                String(data.invoiceId),
              ])) ?? [];
            if (row?.company_id === bad.companyId) throw new Error('away');
            return null;
          },
        },
      };
      const { failed } = await invoiceFinishedMonths(failing);
      expect(failed).toEqual([bad.companyId]);
      expect(await bad.invoices()).toEqual([]);
      expect(await good.invoices()).toEqual([['2030-03', 2n]]);
      await bad.run();
      expect(await bad.invoices()).toEqual([['2030-03', 1n]]);
    });

    test('P-29 random months, modes and runs: all POSTPAID usage is invoiced once, no other usage is', async () => {
      const random = createSeededRandom(290);
      for (let round = 0; round < 2; round += 1) {
        const { use, bill, run, invoices, clock } = await open('PREPAID', '2030-01-01T00:00:00Z');
        let mode: BillingMode = 'PREPAID';
        let owed = 0n;
        for (let step = 0; step < 30; step += 1) {
          await clock.advance(random.below(6 * 86_400_000));
          const at = new Date(clock.now()).toISOString();
          const dice = random.below(10);
          if (dice < 6) {
            const micro = BigInt(1 + random.below(1_000_000));
            await use(micro, at);
            if (mode === 'POSTPAID') owed += micro;
          } else if (dice < 8) {
            mode = mode === 'PREPAID' ? 'POSTPAID' : 'PREPAID';
            await bill(mode);
          } else await Promise.all([run(), run()]);
        }
        await clock.advance(32 * 86_400_000);
        await run();
        const all = await invoices();
        expect(all.reduce((sum, [, usage]) => sum + (usage ?? 0n), 0n)).toBe(owed);
        expect(new Set(all.map(([month]) => month)).size).toBe(all.length);
      }
    });
  });
}
