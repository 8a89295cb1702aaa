import { createEventVerifier } from '../../src/adapters/payment-provider/stripe/verify-event.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addPaymentWebhook } from '../../src/backend/payment-webhook.ts';
import { addCompany, type BillingMode } from '../../src/domain/accounts/company.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { listTransactions } from '../../src/domain/credits/ledger/ledger.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import {
  findPaymentEvent,
  listPaymentEvents,
  type PaymentEvent,
} from '../../src/domain/payments/event-inbox.ts';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { createServiceApp } from '../../src/http/service-app.ts';
import type { Database } from '../../src/ports/database.ts';
import type {
  Listed,
  Page,
  PaymentProvider,
  ProviderAnswer,
  ProviderEvent,
  WireObject,
} from '../../src/ports/payment-provider.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { noteExchange } from '../setup/recent.ts';
import { RECORDED_AT } from './recorded-events.ts';

export const CREDIT = 1_000_000n;
export const GRACE_MS = 7 * 24 * 60 * 60_000;
const { newId } = createSystemSecrets();

/** Events on a real database, a scripted provider, and mails that are stored and not sent. */
export function openPayments(database: Database, lines?: Pick<PaymentProvider, 'listInvoiceLines'>) {
  const clock = createManualClock(RECORDED_AT * 1000);
  const { log, entries } = createRecordingLog();
  const sharedState = createInProcessState({ clock });
  const known = new Map<string, WireObject>();
  const asked: string[] = [];
  const invoiceLines = new Map<string, readonly WireObject[]>();
  const provider = {
    async retrieveSubscription(id: string): Promise<ProviderAnswer<WireObject>> {
      asked.push(id);
      const value = known.get(id);
      if (value !== undefined) return { outcome: 'done', value };
      const failure = { reason: 'not-found', message: `No such subscription: '${id}'`, code: null } as const;
      return { outcome: 'failed', failure };
    },
    /** Two to a page, whatever is asked for: more than one page of every invoice that has more lines. */
    async listInvoiceLines(id: string, page: Page = {}): Promise<ProviderAnswer<Listed<WireObject>>> {
      asked.push(id);
      const lines = invoiceLines.get(id);
      if (lines === undefined) {
        const failure = { reason: 'unavailable', message: 'It does not answer.', code: null } as const;
        return { outcome: 'failed', failure };
      }
      const from = lines.findIndex((line) => line.id === page.after) + 1;
      const items = lines.slice(from, from + 2);
      return { outcome: 'done', value: { items, hasMore: from + 2 < lines.length } };
    },
    ...lines,
  };
  const secrets = createSystemSecrets();
  const jobQueue = { enqueue: async () => newId() };
  const mail = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'mail.example' });
  const parts = { database, sharedState, provider, mail, secrets, clock, log, pastDueGraceMs: GRACE_MS };
  const events = createPaymentEvents(parts);

  async function found(event: ProviderEvent): Promise<PaymentEvent> {
    const [row] = await database.query<{ id: string }>(
      'select id from provider_events where provider_event_id = $1',
      [event.id],
    );
    const kept = row === undefined ? null : await findPaymentEvent(database, row.id);
    if (kept === null) throw new Error(`event ${event.id} is not kept`);
    return kept;
  }

  return {
    ...{ database, clock, log, entries, sharedState, known, invoiceLines, asked, parts, events, found },
    receive: (event: ProviderEvent) => events.receive(event),
    statusOf: async (event: ProviderEvent) => (await found(event)).status,
    list: () => listPaymentEvents(database),
    async balance(companyId: string): Promise<bigint> {
      return (await readLevel(database, companyId))?.balanceMicro ?? 0n;
    },
    async postings(companyId: string): Promise<[string, bigint][]> {
      const rows = await listTransactions(database, companyId, { first: 100 });
      return rows.map(({ type, amountMicro }): [string, bigint] => [type, amountMicro]).reverse();
    },
    /** What is carried: how far the lines of all invoices are below what was granted. */
    async carried(companyId: string): Promise<bigint> {
      const [row] = await database.query<{ micro: bigint }>(
        `select coalesce(sum(credits_micro - moved_micro), 0)::bigint as micro from plan_grants where company_id = $1`,
        [companyId],
      );
      return row?.micro ?? 0n;
    },
    async mails(companyId: string): Promise<string[]> {
      const rows = await database.query<{ kind: string }>(
        'select kind from mail_outbox where company_id = $1 order by id',
        [companyId],
      );
      return rows.map(({ kind }) => kind);
    },
  };
}

export type PaymentsUnderTest = ReturnType<typeof openPayments>;

/** Posts to the webhook of these payments; without a signature for null. */
export function openWebhook(payments: PaymentsUnderTest, secret: string) {
  const { clock, log } = payments;
  const bounds = { maxBodyBytes: 8 * 1024 * 1024, answerTimeoutMs: 60_000 };
  const app = createServiceApp({ clock, log, secrets: createSystemSecrets(), ...bounds });
  const verifyEvent = createEventVerifier({ secrets: [secret], clock });
  addPaymentWebhook(app, {
    ...{ paymentEvents: payments.events, provider: { verifyEvent }, clock, log },
    clientAddress: () => '192.0.2.1',
    requestLimits: { countBadSignature: async () => ({ outcome: 'admitted' }) },
  });
  return async (body: string | Uint8Array<ArrayBuffer>, signature: string | null): Promise<Response> => {
    const headers = signature === null ? {} : { 'stripe-signature': signature };
    const answering = app.request('/payments/webhook', { method: 'POST', body, headers });
    return await noteExchange(`POST /payments/webhook ${body}`, answering);
  };
}

export interface MadeCompany {
  readonly id: string;
  readonly customerId: string;
}

export async function makeCompany(
  database: Database,
  billingMode: BillingMode = 'PREPAID',
): Promise<MadeCompany> {
  const id = newId();
  const customerId = `cus_${id.slice(-12)}`;
  await addCompany(database, { id, name: 'Acme', billingMode });
  await database.query('update companies set provider_customer_id = $2 where id = $1', [id, customerId]);
  await database.query(
    `insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'none', 'COMPANY_ADMIN')`,
    [newId(), id, `${id}@example.com`],
  );
  return { id, customerId };
}

export interface MadePurchase {
  readonly id: string;
  readonly sessionId: string;
  readonly paymentId: string;
  readonly chargeId: string;
}

/** A pack that is about to be paid for. */
export async function makePurchase(
  database: Database,
  companyId: string,
  { credits = 1_000n, amountMinor = 1_000n, currency = 'usd', expireAfterDays = null as number | null } = {},
): Promise<MadePurchase> {
  const [packId, id] = [newId(), newId()];
  const end = id.slice(-12);
  const now = new Date(RECORDED_AT * 1000);
  await database.query(
    `insert into credit_packs (id, name, credits_micro, price_minor, currency, sort_order, status, provider_product_id,
       provider_price_id) values ($1, 'Starter', $2, $3, $4, 1, 'ACTIVE', $5, $6)`,
    [packId, credits * CREDIT, amountMinor, currency, `prod_${end}`, `price_pack_${end}`],
  );
  const sessionId = `cs_${end}`;
  await database.query(
    `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
       provider_session_id, created_at, updated_at, credits_expire_after_days)
     values ($1, $2, $3, 'PENDING', $4, $5, $6, $7, $8, $8, $9)`,
    [id, companyId, packId, credits * CREDIT, amountMinor, currency, sessionId, now, expireAfterDays],
  );
  return { id, sessionId, paymentId: `pi_${end}`, chargeId: `ch_${end}` };
}

export async function makePlan(
  database: Database,
  { credits = 3_000n, priceMinor = 2_900n, currency = 'usd', trialCredits = 0n } = {},
): Promise<{ readonly id: string; readonly priceId: string }> {
  const id = newId();
  const priceId = `price_${id.slice(-12)}`;
  await database.query(
    `insert into plans (id, name, billing_mode, price_minor, currency, credits_micro, billing_interval,
       provider_product_id, provider_price_id, trial_credits_micro)
     values ($1, 'Basic', 'PREPAID', $2, $3, $4, 'MONTH', $5, $6, $7)`,
    [id, priceMinor, currency, credits * CREDIT, `prod_${id.slice(-12)}`, priceId, trialCredits * CREDIT],
  );
  return { id, priceId };
}

/** An invoice for usage, of 50 credits for 5 usd; paid under the provider's id `paidAs` if one is given. */
export async function makeUsageInvoice(
  database: Database,
  companyId: string,
  {
    amountMinor = 500n,
    usageMicro = 50n * CREDIT,
    month = '2029-12',
    dueAt = new Date(RECORDED_AT * 1000 + 14 * 24 * 60 * 60_000),
    paidAs = null as string | null,
  } = {},
): Promise<string> {
  const id = newId();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
       last_version, period_start, period_end, due_at, created_at, provider_invoice_id, number)
     values ($1, $2, 'POSTPAID', case when $7::text is null then 'OPEN' else 'PAID' end, $3, 'usd', $4, 1, 1,
       $5::timestamptz, $5::timestamptz + interval '1 month', $6, $8, $7, '2029-12-X')`,
    [
      id,
      companyId,
      amountMinor,
      usageMicro,
      `${month}-01T00:00:00Z`,
      dueAt,
      paidAs,
      new Date(RECORDED_AT * 1000),
    ],
  );
  return id;
}
