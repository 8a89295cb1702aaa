import { beforeAll, describe, expect, test } from 'bun:test';
import { postAt } from '../../../../test/doubles/posted-usage.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { overdueSince } from '../holds/billing-status.ts';
import { readLevel, setCompanyBilling } from '../ledger/credit-account.ts';
import { findInvoice, type InvoiceStatus, listInvoices, markInvoicePaid, voidInvoice } from './invoice.ts';
import {
  attachProviderInvoice,
  type IncomingInvoice,
  mayFollow,
  upsertInvoice,
} from './provider-invoices.ts';

const { newId } = createSystemSecrets();
const STATUSES: readonly InvoiceStatus[] = ['DRAFT', 'OPEN', 'UNCOLLECTIBLE', 'PAID', 'VOID'];
const database = useDatabase();
let companyId = '';

beforeAll(async () => {
  companyId = await addPostpaid();
});

async function addPostpaid(): Promise<string> {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'POSTPAID' });
  return id;
}

function incomingInvoice(changes: Partial<IncomingInvoice> = {}): IncomingInvoice {
  const missing = { periodStart: null, periodEnd: null, number: null, hostedUrl: null, dueAt: null };
  return {
    newId: newId(),
    providerInvoiceId: `in_${newId()}`,
    companyId,
    kind: 'SUBSCRIPTION',
    status: 'OPEN',
    amountMinor: 4_900n,
    currency: 'EUR',
    ...missing,
    finalizedAt: null,
    paidAt: null,
    reportedAt: new Date(0),
    ...changes,
  };
}

const upsert = (one: IncomingInvoice) =>
  database.transaction((transaction) => upsertInvoice(transaction, one));

async function postpaidInvoice(usageMicro: bigint, owner = companyId, month = '2030-01'): Promise<string> {
  const id = newId();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
       last_version, period_start, period_end, due_at)
     values ($1, $2, 'POSTPAID', 'OPEN', 100, 'usd', $3, 1, 1, $4::timestamptz, $4::timestamptz, '2030-02-14')`,
    [id, owner, usageMicro, `${month}-01T00:00:00Z`],
  );
  return id;
}

describe('invoices from events of the provider', () => {
  test('P-19 in any order the highest status stays, with its details', async () => {
    const random = createSeededRandom(19);
    for (let round = 0; round < 40; round += 1) {
      const base = incomingInvoice();
      let wanted: InvoiceStatus | null = null;
      for (let step = 0; step < 6; step += 1) {
        const status = random.pick(STATUSES);
        const fits = wanted === null || mayFollow(status, wanted);
        const { outcome } = await upsert({ ...base, newId: newId(), status, number: `n-${step}` });
        expect(outcome).toBe(wanted === null ? 'added' : fits ? 'changed' : 'stale');
        if (fits) wanted = status;
      }
      const [row] = await database.query('select status from invoices where provider_invoice_id = $1', [
        base.providerInvoiceId,
      ]);
      expect(row?.status).toBe(wanted);
    }
  });

  test('P-24 a late event fills in what was missing and changes nothing else', async () => {
    const base = incomingInvoice({
      status: 'PAID',
      number: null,
      hostedUrl: 'https://pay.example/1',
      amountMinor: 4_900n,
    });
    await upsert(base);
    const late = {
      ...base,
      newId: newId(),
      status: 'OPEN',
      number: 'A-1',
      hostedUrl: 'x',
      amountMinor: 1n,
    } as const;
    const kept = { status: 'PAID', number: 'A-1', hostedUrl: 'https://pay.example/1', amountMinor: 4_900n };
    expect(await upsert(late)).toMatchObject({ outcome: 'stale', invoice: { ...kept, currency: 'eur' } });
  });

  test('an invoice of one company is never assigned to another', async () => {
    const base = incomingInvoice();
    await upsert(base);
    const other = await addPostpaid();
    expect(await upsert({ ...base, companyId: other, status: 'PAID' })).toEqual({
      outcome: 'of-another-company',
    });
    expect(await findInvoice(database, base.newId)).toMatchObject({ companyId, status: 'OPEN' });
  });

  test('no statement reverts a status, from any writer', async () => {
    const base = incomingInvoice({ status: 'PAID' });
    await upsert(base);
    for (const status of ['DRAFT', 'OPEN', 'VOID']) {
      const error = await database
        .query('update invoices set status = $2 where id = $1', [base.newId, status])
        .catch((thrown: Error) => thrown);
      expect(error).toBeInstanceOf(Error);
    }
  });

  test('P-29 our own invoice gets the provider’s id once and keeps its own amount', async () => {
    const id = await postpaidInvoice(5n, companyId, '2031-01');
    const names = {
      providerInvoiceId: `in_${id}`,
      number: 'N-1',
      hostedUrl: null,
      dueAt: new Date('2031-03-01'),
    };
    const attach = (changes = {}) =>
      database.transaction((transaction) => attachProviderInvoice(transaction, id, { ...names, ...changes }));
    expect(await attach()).toMatchObject({ outcome: 'attached', invoice: { number: 'N-1' } });
    expect(await attach()).toMatchObject({ outcome: 'attached' });
    expect(await attach({ providerInvoiceId: 'in_2' })).toMatchObject({ outcome: 'has-another' });
    const incoming = incomingInvoice({
      providerInvoiceId: names.providerInvoiceId,
      kind: 'MANUAL',
      amountMinor: 7n,
    });
    expect(await upsert(incoming)).toMatchObject({
      outcome: 'changed',
      invoice: {
        id,
        kind: 'POSTPAID',
        amountMinor: 100n,
        currency: 'usd',
        dueAt: names.dueAt,
        usageMicro: 5n,
      },
    });
  });

  test('they are listed newest first, page by page, each once', async () => {
    const owner = await addPostpaid();
    for (let n = 0; n < 7; n += 1) await upsert(incomingInvoice({ companyId: owner }));
    const seen: string[] = [];
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const page = await listInvoices(database, owner, { limit: 3, ...(after && { after }) });
      seen.push(...page.map(({ id }) => id));
      if (page.length < 3) break;
    }
    const all = await listInvoices(database, owner);
    expect(seen).toEqual(all.map(({ id }) => id));
    expect(new Set(seen).size).toBe(7);
  });
});

describe('effects of an invoice', () => {
  const pay = (invoiceId: string) =>
    database.transaction((transaction) =>
      markInvoicePaid(transaction, { invoiceId, paidAt: new Date('2030-02-20') }),
    );
  const drop = (invoiceId: string) =>
    database.transaction((transaction) => voidInvoice(transaction, { invoiceId, reason: 'a mistake' }));

  test('P-29 a payment posts the usage back as INVOICE_PAYMENT, once, and unblocks the company', async () => {
    const owner = await addPostpaid();
    await postAt(database, owner, -300n, '2030-01-05T00:00:00Z');
    const id = await postpaidInvoice(300n, owner);
    expect(await overdueSince(database, owner)).toEqual(new Date('2030-02-14'));
    expect(await pay(id)).toMatchObject({
      outcome: 'settled',
      level: { balanceMicro: 0n },
      invoice: { status: 'PAID' },
    });
    expect(await pay(id)).toMatchObject({ outcome: 'already-settled', level: { balanceMicro: 0n } });
    expect(await overdueSince(database, owner)).toBeNull();
    expect(await drop(id)).toMatchObject({ outcome: 'ended-otherwise', invoice: { status: 'PAID' } });
    const rows = await database.query(
      "select type, contra, source_id from credit_transactions where account_id = $1 and type <> 'USAGE'",
      [owner],
    );
    expect(rows).toEqual([{ type: 'INVOICE_PAYMENT', contra: 'receivables', source_id: id }]);
  });

  test('P-29 a status that was written first by another process does not lose the ledger row', async () => {
    const owner = await addPostpaid();
    const id = await postpaidInvoice(40n, owner);
    await database.query("update invoices set status = 'PAID' where id = $1", [id]);
    expect(await pay(id)).toMatchObject({ outcome: 'settled', level: { balanceMicro: 40n } });
    expect(await pay(id)).toMatchObject({ outcome: 'already-settled', level: { balanceMicro: 40n } });
  });

  test('a void invoice is not due, and its usage is written off', async () => {
    const owner = await addPostpaid();
    await postAt(database, owner, -300n, '2030-01-05T00:00:00Z');
    const id = await postpaidInvoice(300n, owner);
    expect(await drop(id)).toMatchObject({ outcome: 'settled', level: { balanceMicro: 0n } });
    expect(await drop(id)).toMatchObject({ outcome: 'already-settled', level: { balanceMicro: 0n } });
    expect(await pay(id)).toMatchObject({ outcome: 'ended-otherwise' });
    expect(await pay(newId())).toEqual({ outcome: 'no-such-invoice' });
  });

  test('an invoice for other items changes no balance', async () => {
    const base = incomingInvoice();
    await upsert(base);
    const before = await readLevel(database, companyId);
    expect(await pay(base.newId)).toMatchObject({ outcome: 'settled', level: before ?? {} });
  });

  test('G-32 a PREPAID company is not blocked by invoices, and an invoice without a due date blocks no company', async () => {
    const owner = await addPostpaid();
    await upsert(incomingInvoice({ companyId: owner, dueAt: null }));
    expect(await overdueSince(database, owner)).toBeNull();
    await upsert(incomingInvoice({ companyId: owner, dueAt: new Date('2030-05-01') }));
    await upsert(incomingInvoice({ companyId: owner, dueAt: new Date('2030-04-01') }));
    await upsert(incomingInvoice({ companyId: owner, dueAt: new Date('2030-03-01'), status: 'DRAFT' }));
    expect(await overdueSince(database, owner)).toEqual(new Date('2030-04-01'));
    await database.transaction((transaction) => setCompanyBilling(transaction, owner, 'PREPAID', null));
    expect(await overdueSince(database, owner)).toBeNull();
  });
});
