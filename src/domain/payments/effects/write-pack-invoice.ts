import { INVOICE_COLUMNS, type Invoice } from '../../credits/invoice.ts';
import { upsertInvoice } from '../../credits/invoice-from-provider.ts';
import { markInvoicePaid } from '../../credits/invoice-settling.ts';
import type { EffectContext, KeptEvent } from '../effect.ts';
import type { CreditPackPurchase } from '../purchase.ts';
import { idIn } from '../wire-fields.ts';

/**
 * The paid invoice of a purchase (P-20). Where the provider made one it is that one, whichever of the two events
 * came first; else it is ours alone.
 */
export async function writePackInvoice(
  event: KeptEvent,
  { transaction, newId, now }: EffectContext,
  purchase: CreditPackPurchase,
): Promise<Invoice> {
  const { companyId, amountMinor, currency } = purchase;
  const paidAt = event.happenedAt;
  const providerInvoiceId = idIn(event.object.invoice);
  if (providerInvoiceId === null) {
    const id = newId();
    const [invoice] = await transaction.query<Invoice>(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, number, finalized_at, paid_at,
         created_at, updated_at)
       values ($1, $2, 'PACK', 'PAID', $3, $4, $5, $6, $6, $7, $7) returning ${INVOICE_COLUMNS}`,
      [id, companyId, amountMinor, currency, `PACK-${purchase.id.slice(-12).toUpperCase()}`, paidAt, now],
    );
    if (invoice === undefined) throw new Error('an invoice was not written');
    return invoice;
  }
  const told = await upsertInvoice(transaction, {
    newId: newId(),
    providerInvoiceId,
    companyId,
    kind: 'PACK',
    status: 'PAID',
    amountMinor,
    currency,
    ...{ periodStart: null, periodEnd: null, number: null, hostedUrl: null, dueAt: null },
    finalizedAt: paidAt,
    paidAt,
  });
  if (told.outcome === 'of-another-company') {
    throw new Error(`invoice ${providerInvoiceId} of purchase ${purchase.id} is another company's`);
  }
  const settled = await markInvoicePaid(transaction, { invoiceId: told.invoice.id, paidAt });
  return settled.outcome === 'no-such-invoice' ? told.invoice : settled.invoice;
}
