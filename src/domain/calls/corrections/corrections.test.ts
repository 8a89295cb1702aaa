import { beforeAll, describe, expect, test } from 'bun:test';
import { TERMS } from '../../../../test/contracts/monthly-invoices.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany, addTestUser } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { firstDayOfMonth } from '../../credits/billing-month.ts';
import { readBudgetSpending } from '../../credits/budgets/budget-levels.ts';
import { readKeyMonth } from '../../credits/holds/holds.ts';
import { listInvoices, markInvoicePaid, voidInvoice } from '../../credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../credits/invoices/monthly-invoices.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { openUserAccount } from '../../credits/ledger/user-account.ts';
import { setPrice } from '../../models/prices.ts';
import { AUDIT_CHECKS } from '../../reconciliation/audit.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { dropWithheldUsage, postWithheldUsage } from '../settlement/withheld-usage.ts';
import { correctCharge, listCorrections } from './correct-charge.ts';
import { type RerateFilter, rerateCalls, rerateReport } from './rerate-calls.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();
const log = createSilentLog();
const clock = createManualClock(Date.now());
const sharedState = createInProcessState({ clock, log });
const secrets = { ...createSystemSecrets(), newId };
const enqueued: unknown[] = [];
const jobQueue = { enqueue: async (_: string, data: unknown) => void enqueued.push(data) as never };
const DAY_MS = 24 * 60 * 60_000;
const month = firstDayOfMonth(clock.now());
/** Of the running month: 76 micro-credits by the first prices. */
const NOW = { startedAtMs: clock.now() };

const postpaid = async () => {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'POSTPAID' });
  return id;
};
const charged = async (companyId: string, changes: Partial<FinishedCall> = {}) => {
  const { startedAtMs } = { ...NOW, ...changes };
  const id = `${leastIdAt(startedAtMs).slice(0, 14)}7${newId().slice(15)}`;
  const call = finishedCall(companyId, { id, startedAtMs, ...changes });
  await chargeCalls(database, [call]);
  return call.id;
};
const correct = (callId: string, creditsMicro: bigint, reason = 'a wrong answer') =>
  database.transaction((transaction) =>
    correctCharge(transaction, jobQueue, {
      ...{ id: newId(), callId, creditsMicro, reason, now: new Date(clock.now()) },
    }),
  );
const balance = async (id: string) => (await readLevel(database, id))?.balanceMicro;
const invoiced = async (companyId: string, inDays = 40) => {
  const at = createManualClock(clock.now() + inDays * DAY_MS);
  await invoiceFinishedMonths({
    ...{ database, log, sharedState, jobQueue, secrets, terms: { ...TERMS, pricePerCredit: '10000' } },
    clock: at,
  });
  return (await listInvoices(database, companyId)).map(
    ({ usageMicro, amountMinor, creditedMicro, creditedMinor, ...rest }) => ({
      ...{ id: rest.id, status: rest.status, usageMicro, amountMinor, creditedMicro, creditedMinor },
    }),
  );
};
async function faults(): Promise<string[]> {
  const found: string[] = [];
  for (const check of AUDIT_CHECKS) found.push(...(await runCheck(database, check)).faults);
  return found;
}

describe('credits of a call that are given back', () => {
  test('are a new line, once per reason, and together never more than the charge', async () => {
    const companyId = await addTestCompany(database);
    const callId = await charged(companyId);
    expect(await correct(callId, 70n)).toMatchObject({ outcome: 'corrected', companyId });
    expect(await correct(callId, 70n)).toEqual({ outcome: 'corrected-before' });
    expect(await correct(callId, 5n)).toMatchObject({ problem: expect.stringContaining('another reason') });
    expect(await correct(callId, 7n, 'more')).toMatchObject({
      problem: '0.000006 of its 0.000076 credits can be given back',
    });
    expect(await correct(callId, 6n, 'the rest')).toMatchObject({ outcome: 'corrected' });
    expect(await correct(newId(), 1n)).toEqual({ outcome: 'not-found' });
    expect(await balance(companyId)).toBe(0n);
    expect(await listCorrections(database, [callId])).toMatchObject([
      { creditsMicro: 70n, reason: 'a wrong answer' },
      { creditsMicro: 6n, reason: 'the rest' },
    ]);
    const [call] = await database.query('select charge_micro from calls where id = $1', [callId]);
    expect(call).toEqual({ charge_micro: 76n });
    expect(await faults()).toEqual([]);
  });

  test('go to the user who paid', async () => {
    const companyId = await addTestCompany(database);
    const userId = await addTestUser(database, companyId);
    await database.transaction((transaction) => openUserAccount(transaction, { userId, companyId }));
    const callId = await charged(companyId, { payerId: userId });
    await correct(callId, 76n);
    expect([await balance(userId), await balance(companyId)]).toEqual([0n, 0n]);
    expect(await faults()).toEqual([]);
  });

  test('limits and budgets of the running month have them back; a past month stays as it is', async () => {
    const companyId = await addTestCompany(database);
    const keyId = newId();
    const of = { keyId, project: 'search', endUser: 'ada' };
    const callId = await charged(companyId, of);
    const pastMs = Date.UTC(2026, 0, 31, 12);
    const past = await charged(companyId, { ...of, startedAtMs: pastMs });
    const spent = async (day: string) => [
      await readKeyMonth(database, keyId, day),
      await readBudgetSpending(database, companyId, { scope: 'COMPANY', subject: companyId }, day),
      await readBudgetSpending(database, companyId, { scope: 'PROJECT', subject: 'search' }, day),
      await readBudgetSpending(database, companyId, { scope: 'END_USER', subject: 'ada' }, day),
    ];
    await correct(callId, 70n);
    await correct(past, 70n);
    expect(await spent(month)).toEqual([6n, 6n, 6n, 6n]);
    expect(await spent('2026-01-01')).toEqual([76n, 76n, 76n, 76n]);
    expect(await faults()).toEqual([]);
  });
});

describe('calls that are paid by invoice', () => {
  test('P-29 what is not invoiced yet comes off the usage of its month', async () => {
    const companyId = await postpaid();
    const callId = await charged(companyId);
    await charged(companyId);
    await correct(callId, 70n);
    expect(await balance(companyId)).toBe(-82n);
    const [invoice] = await invoiced(companyId);
    expect(invoice).toMatchObject({ usageMicro: 82n, creditedMicro: 0n });
    await database.transaction((transaction) =>
      markInvoicePaid(transaction, { invoiceId: invoice?.id ?? '', paidAt: new Date() }),
    );
    expect(await balance(companyId)).toBe(0n);
    expect(await faults()).toEqual([]);
  });

  test('P-29 usage of which all was given back is on no invoice', async () => {
    const companyId = await postpaid();
    await correct(await charged(companyId), 76n);
    expect(await invoiced(companyId)).toEqual([]);
    expect(await balance(companyId)).toBe(0n);
    await charged(companyId);
    expect(await faults()).toEqual([]);
  });

  test('P-29 an open invoice asks for less, and its payment returns the rest', async () => {
    const companyId = await postpaid();
    const callId = await charged(companyId);
    await charged(companyId);
    const [{ id: invoiceId = '' } = {}] = await invoiced(companyId);
    await correct(callId, 70n);
    await correct(callId, 6n, 'the rest');
    const [invoice] = await invoiced(companyId);
    // 152 micro-credits at 10,000 a credit are 1.52, rounded up once; 76 are 0.76.
    expect(invoice).toMatchObject({
      usageMicro: 152n,
      amountMinor: 152n,
      creditedMicro: 76n,
      creditedMinor: 76n,
    });
    expect(enqueued).toContainEqual({ invoiceId });
    expect(await faults()).toEqual([]);
    await database.transaction((transaction) =>
      markInvoicePaid(transaction, { invoiceId, paidAt: new Date() }),
    );
    expect(await balance(companyId)).toBe(0n);
    expect(await faults()).toEqual([]);
  });

  test('P-29 what was paid is money on the customer’s balance, not credits', async () => {
    const companyId = await postpaid();
    const callId = await charged(companyId);
    const [{ id: invoiceId = '' } = {}] = await invoiced(companyId);
    await database.transaction((transaction) =>
      markInvoicePaid(transaction, { invoiceId, paidAt: new Date() }),
    );
    await correct(callId, 76n);
    expect(await balance(companyId)).toBe(0n);
    expect(await invoiced(companyId)).toMatchObject([{ creditedMicro: 76n, creditedMinor: 76n }]);
    expect(await faults()).toEqual([]);
  });

  test('P-29 a void invoice has given back everything', async () => {
    const companyId = await postpaid();
    const callId = await charged(companyId);
    const [{ id: invoiceId = '' } = {}] = await invoiced(companyId);
    await database.transaction((transaction) => voidInvoice(transaction, { invoiceId, reason: 'a test' }));
    expect(await correct(callId, 1n)).toMatchObject({ problem: expect.stringContaining('void') });
    expect(await faults()).toEqual([]);
  });

  test('P-29 usage that was withheld and posted is on the invoice of its own posting', async () => {
    const companyId = await postpaid();
    const callId = await charged(companyId, { tokenBounds: { promptTokens: 10, completionTokens: 7 } });
    await invoiced(companyId);
    await database.transaction((transaction) =>
      postWithheldUsage(transaction, { callId, note: 'checked', now: new Date() }),
    );
    // 36 were invoiced; 40 were posted afterwards.
    await correct(callId, 50n);
    expect(await invoiced(companyId, 80)).toMatchObject([
      { usageMicro: 26n },
      { usageMicro: 36n, creditedMicro: 36n },
    ]);
    expect(await faults()).toEqual([]);
  });
});

test('P-29 a call and what was withheld of it may be on one invoice', async () => {
  const companyId = await postpaid();
  const callId = await charged(companyId, { tokenBounds: { promptTokens: 10, completionTokens: 7 } });
  await database.transaction((transaction) =>
    postWithheldUsage(transaction, { callId, note: 'checked', now: new Date() }),
  );
  await charged(companyId);
  const [{ id: invoiceId = '' } = {}] = await invoiced(companyId);
  await correct(callId, 76n);
  expect(await invoiced(companyId)).toMatchObject([{ creditedMicro: 76n, creditedMinor: 76n }]);
  await database.transaction((transaction) =>
    markInvoicePaid(transaction, { invoiceId, paidAt: new Date() }),
  );
  expect(await balance(companyId)).toBe(0n);
  expect(await faults()).toEqual([]);
});

describe('calls that are priced again', () => {
  const ALIAS = 'extract-default';
  const MODEL = `svc/${ALIAS}`;
  const YEAR_AGO = clock.now() - 365 * DAY_MS;
  const of = { alias: MODEL, endpoint: 'chat/completions' } as const;
  const filter = (changes: Partial<RerateFilter> = {}): RerateFilter => ({
    ...{ model: MODEL, from: new Date(YEAR_AGO), to: new Date(YEAR_AGO + 10 * DAY_MS), ...changes },
  });
  const parts = { database, jobQueue, sharedState, secrets, clock, log };
  const price = (prompt: number, completion: number, fromMs: number) =>
    setPrice(
      { database, sharedState, secrets, prefix: 'svc' },
      {
        ...{ alias: MODEL, price: { prompt, cached: 0, completion }, from: new Date(fromMs) },
        reason: 'it was ten times too high',
      },
    );
  const all = { most: Number.POSITIVE_INFINITY };
  let companyId = '';
  let other = '';

  beforeAll(async () => {
    companyId = await addTestCompany(database);
    other = await addTestCompany(database);
    for (const id of [companyId, companyId, other])
      await charged(id, { ...of, startedAtMs: YEAR_AGO + 1_000 });
    await charged(companyId, {
      ...{ ...of, startedAtMs: YEAR_AGO + 2_000, tokenBounds: { promptTokens: 10, completionTokens: 7 } },
    });
    await charged(companyId, { ...of, startedAtMs: YEAR_AGO + 20 * DAY_MS });
  });

  test('a price for a time that has passed changes no charge; the audit agrees', async () => {
    expect(
      await setPrice(
        { database, sharedState, secrets, prefix: 'svc' },
        { alias: MODEL, price: { prompt: 1, cached: 1, completion: 1 }, from: new Date(YEAR_AGO) },
      ),
    ).toMatchObject({ outcome: 'no-reason' });
    expect(await price(0.1, 0.4, YEAR_AGO)).toMatchObject({ outcome: 'changed' });
    expect(await price(1, 4, YEAR_AGO + 5 * DAY_MS)).toMatchObject({ outcome: 'changed' });
    expect(await balance(other)).toBe(-76n);
    expect(await faults()).toEqual([]);
    // A call that arrives late has the price of its start: 6 x 0.1 + 17 x 0.4, rounded up.
    const late = await addTestCompany(database);
    await charged(late, { ...of, startedAtMs: YEAR_AGO + 3_000 });
    expect(await balance(late)).toBe(-8n);
    expect(await faults()).toEqual([]);
  });

  test('the report says by company what would be given back, and nothing is changed', async () => {
    expect(await rerateReport(database, filter())).toEqual({
      // Of the bounded call 10 + 7 tokens count: 36 at the first price, 4 now.
      companies: [
        { companyId, calls: 3, beforeMicro: 188n, afterMicro: 20n },
        { companyId: other, calls: 1, beforeMicro: 76n, afterMicro: 8n },
      ].sort((one, another) => (one.companyId < another.companyId ? -1 : 1)),
      dearer: [],
    });
    expect((await rerateReport(database, filter({ companyId: other }))).companies).toHaveLength(1);
    expect(await balance(other)).toBe(-76n);
  });

  test('the difference is given back once per call and price', async () => {
    await Promise.all([rerateCalls(parts, filter(), all), rerateCalls(parts, filter(), all)]);
    await rerateCalls(parts, filter(), all);
    expect([await balance(companyId), await balance(other)]).toEqual([-20n - 76n, -8n]);
    expect((await rerateReport(database, filter())).companies).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  test('a price that is set again gives back the further difference; dearer calls are listed and left', async () => {
    expect(await price(0, 0.1, YEAR_AGO + 500)).toMatchObject({ outcome: 'changed' });
    await rerateCalls(parts, filter({ companyId: other }), all);
    // 17 x 0.1, rounded up.
    expect(await balance(other)).toBe(-2n);
    expect(await price(9, 9, YEAR_AGO + 700)).toMatchObject({ outcome: 'changed' });
    const { companies, dearer } = await rerateReport(database, filter({ companyId: other }));
    expect([companies, dearer]).toMatchObject([
      [],
      [{ requestId: 'req_1', chargeMicro: 76n, newMicro: 207n }],
    ]);
    await rerateCalls(parts, filter({ companyId: other }), all);
    expect(await balance(other)).toBe(-2n);
    const open = await database.query<{ callId: string }>(
      'select call_id as "callId" from withheld_usage where company_id = $1 and resolved_at is null',
      [companyId],
    );
    for (const { callId } of open) {
      await database.transaction((transaction) =>
        dropWithheldUsage(transaction, { callId, note: 'a test', now: new Date() }),
      );
    }
    expect(await faults()).toEqual([]);
  });

  test('a call that another alias served is priced again by the alias whose price it had', async () => {
    const [requested, served] = [await addTestCompany(database), await addTestCompany(database)];
    const call = { ...of, startedAtMs: YEAR_AGO + 900, servedBy: 'svc/chat-premium' };
    await charged(requested, { ...call, pricedAs: MODEL });
    await charged(served, call);
    const before = await balance(served);
    expect(await balance(requested)).toBe(-207n);
    expect(await price(1, 1, YEAR_AGO + 800)).toMatchObject({ outcome: 'changed' });
    for (const id of [requested, served]) await rerateCalls(parts, filter({ companyId: id }), all);
    expect([await balance(requested), await balance(served)]).toEqual([-23n, before]);
    expect(await faults()).toEqual([]);
  });
});
