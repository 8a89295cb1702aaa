import type { Transaction } from '../../../ports/database.ts';
import { INVOICE_COLUMNS, type Invoice, type InvoiceKind, type InvoiceStatus } from './invoice.ts';

/** An invoice as the payment provider reports it. Null fields were not reported. */
export interface IncomingInvoice {
  /** Used if the provider's invoice is new to us. */
  readonly newId: string;
  readonly providerInvoiceId: string;
  readonly companyId: string;
  /** POSTPAID invoices are created by us, and found by the provider's id that was attached to them. */
  readonly kind: Exclude<InvoiceKind, 'POSTPAID'>;
  readonly status: InvoiceStatus;
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly number: string | null;
  readonly hostedUrl: string | null;
  readonly dueAt: Date | null;
  readonly finalizedAt: Date | null;
  readonly paidAt: Date | null;
  /** When this was so, by the provider's clock. */
  readonly reportedAt: Date;
}

type UpsertedInvoice =
  | { readonly outcome: 'added' | 'changed' | 'stale'; readonly invoice: Invoice }
  /** The provider's invoice belongs to another company; nothing was changed. */
  | { readonly outcome: 'of-another-company' };

/**
 * Stores what the provider reports, in any order and any number of times. A report of a lower rank than the known
 * status, or of the same status at an earlier time, only fills in missing fields. An invoice of our own keeps its kind, amount and period: our books determine the
 * usage.
 *
 * Only the statuses PAID and VOID are written here; markInvoicePaid and voidInvoice post their effects to the ledger.
 */
export async function upsertInvoice(
  transaction: Transaction,
  incoming: IncomingInvoice,
): Promise<UpsertedInvoice> {
  const before = await lockByProviderId(transaction, incoming.providerInvoiceId);
  if (before !== null && before.companyId !== incoming.companyId) return { outcome: 'of-another-company' };
  const isStale = before !== null && !mayFollow(incoming.status, before.status);
  const [invoice] = await transaction.query<Invoice>(UPSERT, [
    incoming.newId,
    incoming.companyId,
    incoming.kind,
    incoming.status,
    incoming.amountMinor,
    incoming.currency.toLowerCase(),
    incoming.periodStart,
    incoming.periodEnd,
    incoming.providerInvoiceId,
    incoming.number,
    incoming.hostedUrl,
    incoming.dueAt,
    incoming.finalizedAt,
    incoming.paidAt,
    incoming.reportedAt,
  ]);
  // A concurrent transaction inserted it for another company.
  if (invoice === undefined) return { outcome: 'of-another-company' };
  if (before !== null) return { outcome: isStale ? 'stale' : 'changed', invoice };
  return { outcome: invoice.id === incoming.newId ? 'added' : 'changed', invoice };
}

const RANK: Readonly<Record<InvoiceStatus, number>> = {
  DRAFT: 0,
  OPEN: 1,
  UNCOLLECTIBLE: 2,
  PAID: 3,
  VOID: 3,
};

/** A status may follow itself: the repeated report has newer details. */
export function mayFollow(next: InvoiceStatus, present: InvoiceStatus): boolean {
  return next === present || RANK[next] > RANK[present];
}

/** In SQL, so that it applies to the row when the statement takes its lock, not to the one read before. */
const RANKS = 'invoice_rank(excluded.status) > invoice_rank(present.status)';
const FOLLOWS = `(${RANKS} or excluded.status = present.status
     and excluded.reported_at >= coalesce(present.reported_at, excluded.reported_at))`;
const newer = (column: string) =>
  `${column} = case when ${FOLLOWS} then coalesce(excluded.${column}, present.${column})
     else coalesce(present.${column}, excluded.${column}) end`;
const ours = (column: string) =>
  `${column} = case when ${FOLLOWS} and present.kind <> 'POSTPAID' then coalesce(excluded.${column}, present.${column})
     else present.${column} end`;

const UPSERT = `insert into invoices as present (id, company_id, kind, status, amount_minor, currency, period_start,
    period_end, provider_invoice_id, number, hosted_url, due_at, finalized_at, paid_at, reported_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
  on conflict (provider_invoice_id) do update set
    status = case when ${FOLLOWS} then excluded.status else present.status end,
    kind = case when (${RANKS} or excluded.status = present.status) and present.kind <> 'POSTPAID' then excluded.kind
      else present.kind end,
    ${['amount_minor', 'currency', 'period_start', 'period_end'].map(ours).join(', ')},
    ${['number', 'hosted_url', 'due_at'].map(newer).join(', ')},
    finalized_at = coalesce(present.finalized_at, excluded.finalized_at),
    paid_at = coalesce(present.paid_at, excluded.paid_at),
    reported_at = case when ${FOLLOWS} then excluded.reported_at else present.reported_at end,
    updated_at = now()
  where present.company_id = excluded.company_id
  returning ${INVOICE_COLUMNS}`;

async function lockByProviderId(
  transaction: Transaction,
  providerInvoiceId: string,
): Promise<Invoice | null> {
  const rows = await transaction.query<Invoice>(
    `select ${INVOICE_COLUMNS} from invoices where provider_invoice_id = $1 for update`,
    [providerInvoiceId],
  );
  return rows[0] ?? null;
}

/** The provider's identifiers of one of our invoices. */
interface AttachedNames {
  readonly providerInvoiceId: string;
  readonly number: string | null;
  readonly hostedUrl: string | null;
  /** The provider's due date, from which on it blocks calls. */
  readonly dueAt: Date | null;
}

type AttachedInvoice =
  | { readonly outcome: 'attached'; readonly invoice: Invoice }
  | { readonly outcome: 'no-such-invoice' }
  | { readonly outcome: 'has-another'; readonly providerInvoiceId: string };

/** Attaches the provider's id to one of our invoices, once; the same id again changes nothing. */
export async function attachProviderInvoice(
  transaction: Transaction,
  invoiceId: string,
  { providerInvoiceId, number, hostedUrl, dueAt }: AttachedNames,
): Promise<AttachedInvoice> {
  const [present] = await transaction.query<Pick<Invoice, 'providerInvoiceId'>>(
    'select provider_invoice_id as "providerInvoiceId" from invoices where id = $1 for update',
    [invoiceId],
  );
  if (present === undefined) return { outcome: 'no-such-invoice' };
  if (present.providerInvoiceId !== null && present.providerInvoiceId !== providerInvoiceId) {
    return { outcome: 'has-another', providerInvoiceId: present.providerInvoiceId };
  }
  const [invoice] = await transaction.query<Invoice>(
    `update invoices set provider_invoice_id = $2, number = coalesce($3, number),
       hosted_url = coalesce($4, hosted_url), due_at = coalesce($5, due_at), updated_at = now()
     where id = $1 returning ${INVOICE_COLUMNS}`,
    [invoiceId, providerInvoiceId, number, hostedUrl, dueAt],
  );
  if (invoice === undefined) throw new Error('a locked invoice has disappeared');
  return { outcome: 'attached', invoice };
}
