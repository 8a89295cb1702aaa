import type Stripe from 'stripe';
import { idIn, need, type Turn } from '../turn.ts';
import { expireCheckout } from './complete-checkout.ts';
import { cardOf, payInvoice } from './pay-invoice.ts';
import { subscriptionDue } from './renew-subscription.ts';

/** Does what is due for one object, at its moment. What it does makes the next thing due, or nothing. */
export async function doDueWork(
  turn: Turn,
  due: { readonly kind: string; readonly id: string },
): Promise<void> {
  const { id } = due;
  if (due.kind === 'subscription') {
    await subscriptionDue(turn, await need(turn, 'subscription', id, 'id'));
  } else if (due.kind === 'checkout.session') {
    const session = await need(turn, 'checkout.session', id, 'id');
    if (session.body.status === 'open') await expireCheckout(turn, session);
  } else if (due.kind === 'invoice') {
    const { body: invoice } = await need(turn, 'invoice', id, 'id');
    if (invoice.status === 'open' && (await isWanted(turn, invoice))) {
      await payInvoice(turn, invoice, await cardOf(turn, invoice));
    } else {
      await turn.objects.put('invoice', { ...invoice, next_payment_attempt: null }, { hidden: {} });
    }
  }
}

/** Nobody is charged again for a subscription that has ended. */
async function isWanted(turn: Turn, invoice: Stripe.Invoice): Promise<boolean> {
  const id = idIn(invoice.subscription);
  const kept = id === null ? null : await turn.objects.find('subscription', id);
  return kept === null || kept.body.ended_at === null;
}
