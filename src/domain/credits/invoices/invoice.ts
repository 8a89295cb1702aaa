import type { Statements, Transaction } from '../../../ports/database.ts';
import { type AccountLevel, readLevel } from '../ledger/credit-account.ts';
import { lockAccount, type Posting, postTransaction } from '../ledger/ledger.ts';

/**
 * The states of an invoice: DRAFT → OPEN → PAID or VOID, which are final; OPEN may also become UNCOLLECTIBLE, and that
 * PAID or VOID. States may be skipped and are never reverted, whatever order the events arrive in.
 *
 * An OPEN invoice past its due date blocks the calls of a POSTPAID company until it is paid (P-29, G-32). So does an
 * UNCOLLECTIBLE one: giving it up does not pay it.
 */
export type InvoiceStatus = 'DRAFT' | 'OPEN' | 'UNCOLLECTIBLE' | 'PAID' | 'VOID';
export type InvoiceKind = 'POSTPAID' | 'SUBSCRIPTION' | 'PACK' | 'MANUAL';

export interface Invoice {
  readonly id: string;
  readonly companyId: string;
  readonly kind: InvoiceKind;
  readonly status: InvoiceStatus;
  readonly amountMinor: bigint;
  /** Three letters, lower case. */
  readonly currency: string;
  /** What its payment returns to the account; null if it is not for usage. */
  readonly usageMicro: bigint | null;
  /** What credit notes took off since: the payment returns only the rest. */
  readonly creditedMicro: bigint;
  readonly creditedMinor: bigint;
  /** The range of account versions that contains that usage. */
  readonly firstVersion: bigint | null;
  readonly lastVersion: bigint | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly providerInvoiceId: string | null;
  readonly number: string | null;
  readonly hostedUrl: string | null;
  readonly dueAt: Date | null;
  readonly finalizedAt: Date | null;
  readonly paidAt: Date | null;
  /** When an operator recorded a payment made outside the provider. */
  readonly settledByHandAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A row of `invoices` as an Invoice. */
export const INVOICE_COLUMNS = `id, company_id as "companyId", kind, status, amount_minor as "amountMinor",
  currency, usage_micro as "usageMicro", credited_micro as "creditedMicro",
  credited_minor as "creditedMinor", first_version as "firstVersion", last_version as "lastVersion",
  period_start as "periodStart", period_end as "periodEnd", provider_invoice_id as "providerInvoiceId", number,
  hosted_url as "hostedUrl", due_at as "dueAt", finalized_at as "finalizedAt", paid_at as "paidAt",
  settled_by_hand_at as "settledByHandAt", created_at as "createdAt", updated_at as "updatedAt"`;

export const MOST_INVOICES = 500;

interface InvoicePage {
  /** MOST_INVOICES by default and at most. */
  readonly limit?: number;
  /** The id of the last invoice of the page before. */
  readonly after?: string;
  readonly status?: InvoiceStatus | undefined;
  /** Lower-case words that the number must all contain. */
  readonly words?: readonly string[];
}

/** A company's invoices, the newest first. */
export async function listInvoices(
  statements: Statements,
  companyId: string,
  { limit = MOST_INVOICES, after, status, words = [] }: InvoicePage = {},
): Promise<readonly Invoice[]> {
  return await statements.query<Invoice>(
    `select ${INVOICE_COLUMNS} from invoices
     where company_id = $1 and ($2::uuid is null or (created_at, id) <
       (select last.created_at, last.id from invoices last where last.id = $2 and last.company_id = $1))
       and ($4::text is null or status = $4)
       and not exists (select 1 from unnest($5::text[]) as word where position(word in lower(coalesce(number, ''))) = 0)
     order by created_at desc, id desc limit $3`,
    [
      ...[companyId, after ?? null, Math.max(1, Math.min(Math.trunc(limit), MOST_INVOICES))],
      ...[status ?? null, words],
    ],
  );
}

export async function findInvoice(statements: Statements, id: string): Promise<Invoice | null> {
  const rows = await statements.query<Invoice>(`select ${INVOICE_COLUMNS} from invoices where id = $1`, [id]);
  return rows[0] ?? null;
}

export async function findInvoiceByProviderId(
  statements: Statements,
  providerInvoiceId: string,
): Promise<Invoice | null> {
  const rows = await statements.query<Invoice>(
    `select ${INVOICE_COLUMNS} from invoices where provider_invoice_id = $1`,
    [providerInvoiceId],
  );
  return rows[0] ?? null;
}

interface PaidPackInvoice {
  readonly id: string;
  readonly companyId: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly number: string;
  readonly paidAt: Date;
  readonly now: Date;
}

/** The invoice of a credit pack that was paid without a provider invoice. It has no usage to return. */
export async function insertPaidPackInvoice(
  transaction: Transaction,
  { id, companyId, amountMinor, currency, number, paidAt, now }: PaidPackInvoice,
): Promise<Invoice> {
  const [invoice] = await transaction.query<Invoice>(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, number, finalized_at, paid_at,
       created_at, updated_at)
     values ($1, $2, 'PACK', 'PAID', $3, $4, $5, $6, $6, $7, $7) returning ${INVOICE_COLUMNS}`,
    [id, companyId, amountMinor, currency, number, paidAt, now],
  );
  if (invoice === undefined) throw new Error('an invoice was not written');
  return invoice;
}

/** The caller publishes the level after its commit: gateways then check again whether the company is blocked. */
export type SettledInvoice =
  | {
      readonly outcome: 'settled' | 'already-settled';
      readonly invoice: Invoice;
      readonly level: AccountLevel;
    }
  | { readonly outcome: 'no-such-invoice' }
  /** It is VOID and cannot be paid, or PAID and cannot be voided. */
  | { readonly outcome: 'ended-otherwise'; readonly invoice: Invoice };

/**
 * Marks the invoice PAID and returns the invoiced usage to the account: once, however often and in whatever order the
 * events arrive, even if the status was already written elsewhere.
 */
export async function markInvoicePaid(
  transaction: Transaction,
  { invoiceId, paidAt }: { readonly invoiceId: string; readonly paidAt: Date },
): Promise<SettledInvoice> {
  return await settleInvoice(transaction, invoiceId, 'PAID', paidAt, ({ id, number }) => ({
    type: 'INVOICE_PAYMENT',
    contra: 'receivables',
    sourceKind: 'invoice',
    sourceId: id,
    reason: number === null ? null : `invoice ${number}`,
  }));
}

/**
 * The invoice was paid outside the provider, for example by bank transfer. As markInvoicePaid, and records that it was
 * settled by hand unless it was PAID before, so that a later payment at the provider is recognized as a second one.
 */
export async function settleInvoiceByHand(
  transaction: Transaction,
  { invoiceId, paidAt }: { readonly invoiceId: string; readonly paidAt: Date },
): Promise<SettledInvoice> {
  await lockAccountOf(transaction, invoiceId);
  await transaction.query(
    `update invoices set settled_by_hand_at = $2 where id = $1 and status not in ('PAID', 'VOID')`,
    [invoiceId, paidAt],
  );
  return await markInvoicePaid(transaction, { invoiceId, paidAt });
}

/**
 * Cancels the invoice. Its usage is written off: otherwise the company would carry a debt that no invoice asks for, and
 * its credit line would stay used up.
 */
export async function voidInvoice(
  transaction: Transaction,
  { invoiceId, reason }: { readonly invoiceId: string; readonly reason: string },
): Promise<SettledInvoice> {
  return await settleInvoice(transaction, invoiceId, 'VOID', null, ({ id }) => ({
    type: 'ADJUSTMENT',
    contra: 'adjustments',
    sourceKind: 'invoice-void',
    sourceId: id,
    reason: reason.slice(0, LONGEST_REASON),
  }));
}

const LONGEST_REASON = 500;

/** Before the invoice's own row, as the provider's events do: otherwise each could wait for the other. */
async function lockAccountOf(transaction: Transaction, invoiceId: string): Promise<void> {
  const invoice = await findInvoice(transaction, invoiceId);
  if (invoice !== null) await lockAccount(transaction, invoice.companyId);
}

async function settleInvoice(
  transaction: Transaction,
  invoiceId: string,
  status: 'PAID' | 'VOID',
  paidAt: Date | null,
  postingFor: (invoice: Invoice) => Omit<Posting, 'accountId' | 'amountMicro'>,
): Promise<SettledInvoice> {
  await lockAccountOf(transaction, invoiceId);
  const [present] = await transaction.query<Invoice>(
    `select ${INVOICE_COLUMNS} from invoices where id = $1 for update`,
    [invoiceId],
  );
  if (present === undefined) return { outcome: 'no-such-invoice' };
  const isOther = present.status === 'PAID' || present.status === 'VOID' ? present.status !== status : false;
  if (isOther) return { outcome: 'ended-otherwise', invoice: present };
  const [invoice = present] = await transaction.query<Invoice>(
    `update invoices set status = $2, paid_at = coalesce(paid_at, $3), updated_at = now()
     where id = $1 and (status <> $2 or (paid_at is null and $3::timestamptz is not null))
     returning ${INVOICE_COLUMNS}`,
    [invoiceId, status, paidAt],
  );
  const hasChanged = present.status !== status;
  const amountMicro = (invoice.usageMicro ?? 0n) - invoice.creditedMicro;
  if (amountMicro === 0n) {
    const level = await readLevel(transaction, invoice.companyId);
    if (level === null) throw new Error(`company ${invoice.companyId} has no account`);
    return { outcome: hasChanged ? 'settled' : 'already-settled', invoice, level };
  }
  const { companyId: accountId } = invoice;
  const posted = await postTransaction(transaction, { ...postingFor(invoice), accountId, amountMicro });
  switch (posted.outcome) {
    case 'posted':
      return { outcome: 'settled', invoice, level: posted.level };
    case 'already-posted':
      return { outcome: hasChanged ? 'settled' : 'already-settled', invoice, level: posted.level };
    case 'no-account':
      throw new Error(`company ${accountId} has no account`);
    case 'wrong-amount':
      throw new Error(`invoice ${invoice.id} cannot be posted: ${posted.problem}`);
  }
}
