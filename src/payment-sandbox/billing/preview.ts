import type Stripe from 'stripe';
import type { StoredObject } from '../state/object-store.ts';
import { idIn, need, type Turn } from '../state/transaction.ts';
import { upcomingInvoice } from './invoices.ts';
import { changeSubscription, type SubscriptionChanges } from './subscriptions.ts';

/**
 * Previews a change of price as an upcoming invoice. If the change creates an invoice immediately, as with
 * `always_invoice`, it is that one; otherwise the next one. The caller must roll back all changes made here.
 */
export async function previewChange(
  turn: Turn,
  kept: StoredObject<'subscription'>,
  { price, proration }: Pick<SubscriptionChanges, 'price' | 'proration'>,
): Promise<Omit<Stripe.Invoice, 'id'>> {
  if (price === undefined) return await upcomingInvoice(turn, kept.body);
  // A preview shows the amount, not whether it can be paid.
  const { body: customer } = await need(turn, 'customer', String(kept.body.customer), 'customer');
  await turn.objects.put('customer', customer, { hidden: { card: 'works' } });
  const { body: changed } = await changeSubscription(turn, kept, { price, proration });
  const latest = idIn(changed.latest_invoice);
  if (latest === null || latest === idIn(kept.body.latest_invoice)) {
    return await upcomingInvoice(turn, changed);
  }
  const { body: made } = await need(turn, 'invoice', latest, 'invoice');
  const { id: _, ...invoice } = made;
  const url = `/v1/invoices/upcoming/lines?subscription=${changed.id}`;
  const unpaid = { paid: false, attempted: false, amount_paid: 0, amount_remaining: made.amount_due };
  return { ...invoice, ...unpaid, status: 'draft', number: null, lines: { ...made.lines, url } };
}
