import type { Transaction } from '../../ports/database.ts';
import { type AccountLevel, readLevel } from './account-level.ts';
import { INVOICE_COLUMNS, type Invoice } from './invoice.ts';
import { type Posting, postTransaction } from './post-transaction.ts';

/** After its commit the caller publishes the level: gateways then ask anew whether the company is blocked. */
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
 * The invoice is PAID, and the usage that it asked for is given back to the account: once, however often and in
 * whatever order it is told, also where the status was written before by somebody else.
 */
export async function markInvoicePaid(
  transaction: Transaction,
  { invoiceId, paidAt }: { readonly invoiceId: string; readonly paidAt: Date },
): Promise<SettledInvoice> {
  return await settle(transaction, invoiceId, 'PAID', paidAt, ({ id, number }) => ({
    type: 'INVOICE_PAYMENT',
    contra: 'receivables',
    sourceKind: 'invoice',
    sourceId: id,
    reason: number === null ? null : `invoice ${number}`,
  }));
}

/**
 * Nothing is asked for any more. The usage is written off with the invoice: without that the company would carry a
 * debt that no invoice will ever ask for, and its credit line would stay used up.
 */
export async function voidInvoice(
  transaction: Transaction,
  { invoiceId, reason }: { readonly invoiceId: string; readonly reason: string },
): Promise<SettledInvoice> {
  return await settle(transaction, invoiceId, 'VOID', null, ({ id }) => ({
    type: 'ADJUSTMENT',
    contra: 'adjustments',
    sourceKind: 'invoice-void',
    sourceId: id,
    reason: reason.slice(0, LONGEST_REASON),
  }));
}

const LONGEST_REASON = 500;

async function settle(
  transaction: Transaction,
  invoiceId: string,
  status: 'PAID' | 'VOID',
  paidAt: Date | null,
  postingFor: (invoice: Invoice) => Omit<Posting, 'accountId' | 'amountMicro'>,
): Promise<SettledInvoice> {
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
  if (invoice.usageMicro === null) {
    const level = await readLevel(transaction, invoice.companyId);
    if (level === null) throw new Error(`company ${invoice.companyId} has no account`);
    return { outcome: hasChanged ? 'settled' : 'already-settled', invoice, level };
  }
  const { companyId: accountId, usageMicro: amountMicro } = invoice;
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
