import type Stripe from 'stripe';
import { customerShape } from '../objects/catalog.ts';
import type { Card, StoredObject } from '../state/object-store.ts';
import { idIn, need, type Turn } from '../state/transaction.ts';
import { takePayment } from './payments.ts';
import { startSubscription } from './subscriptions.ts';

type Session = StoredObject<'checkout.session'>;

type CheckoutResult =
  | { readonly outcome: 'paid'; readonly session: Stripe.Checkout.Session }
  /** The session stays open: the buyer may try again. */
  | { readonly outcome: 'declined'; readonly session: Stripe.Checkout.Session }
  | { readonly outcome: 'closed'; readonly session: Stripe.Checkout.Session };

/** Handles the buyer's click. Of two concurrent clicks, the second finds the session closed. */
export async function completeCheckout(turn: Turn, kept: Session, card: Card): Promise<CheckoutResult> {
  const current = await expireIfDue(turn, kept);
  if (current.body.status !== 'open') return { outcome: 'closed', session: current.body };
  const buyer = await buyerOf(turn, current);
  return current.body.mode === 'payment'
    ? await completePayment(turn, current, buyer, card)
    : await completeSubscription(turn, current, buyer, card);
}

async function completePayment(turn: Turn, kept: Session, buyer: Buyer, card: Card): Promise<CheckoutResult> {
  const amount = kept.body.amount_total ?? 0;
  if (amount === 0) return await complete(turn, kept, buyer, { payment_status: 'no_payment_required' });
  const { result, intent } = await takePayment(
    turn,
    {
      amount,
      currency: kept.body.currency ?? 'usd',
      customer: buyer.id,
      invoice: null,
      description: null,
      metadata: kept.hidden.paymentMetadata,
      email: buyer.email,
      name: buyer.name,
      intentId: idIn(kept.body.payment_intent),
    },
    card,
  );
  const session = { ...kept.body, payment_intent: intent.id };
  if (result === 'paid') {
    return await complete(turn, { ...kept, body: session }, buyer, { payment_status: 'paid' });
  }
  await turn.objects.put('checkout.session', session, { hidden: kept.hidden, dueAt: session.expires_at });
  return { outcome: 'declined', session };
}

/** The provider creates the subscription only once it is paid: a declined card leaves none behind. */
async function completeSubscription(
  turn: Turn,
  kept: Session,
  buyer: Buyer,
  card: Card,
): Promise<CheckoutResult> {
  const settings = kept.hidden.subscription;
  const isFree = (kept.body.amount_total ?? 0) === 0;
  if (card !== 'works' && !(isFree && card === 'none')) return { outcome: 'declined', session: kept.body };
  const customer = buyer.id ?? (await makeCustomer(turn, buyer));
  const owner = await need(turn, 'customer', customer, 'customer');
  await turn.objects.put('customer', owner.body, { hidden: { card } });
  const { subscription, invoice } = await startSubscription(
    turn,
    {
      customer,
      lines: kept.hidden.lines.flatMap(({ price, quantity }) =>
        price === null ? [] : [{ price, quantity: quantity ?? 1 }],
      ),
      metadata: settings?.metadata ?? {},
      trialDays: settings?.trialDays ?? null,
      missingCard: settings?.missingCard ?? 'create_invoice',
      automaticTax: settings?.automaticTax ?? false,
    },
    card,
  );
  return await complete(turn, kept, buyer, {
    payment_status: isFree ? 'no_payment_required' : invoice.status === 'paid' ? 'paid' : 'unpaid',
    customer,
    subscription: subscription.id,
    invoice: invoice.id,
  });
}

async function complete(
  turn: Turn,
  kept: Session,
  buyer: Buyer,
  changes: Partial<Stripe.Checkout.Session>,
): Promise<CheckoutResult> {
  const session: Stripe.Checkout.Session = {
    ...kept.body,
    ...changes,
    status: 'complete',
    url: null,
    customer_details: {
      address: null,
      email: buyer.email,
      name: buyer.name,
      phone: null,
      tax_exempt: 'none',
      tax_ids: [],
    },
  };
  await turn.objects.put('checkout.session', session, { hidden: kept.hidden });
  await turn.emit('checkout.session.completed', session);
  return { outcome: 'paid', session };
}

export async function expireCheckout(turn: Turn, kept: Session): Promise<Session> {
  const body: Stripe.Checkout.Session = { ...kept.body, status: 'expired', url: null };
  await turn.objects.put('checkout.session', body, { hidden: kept.hidden });
  await turn.emit('checkout.session.expired', body);
  return { ...kept, body };
}

async function expireIfDue(turn: Turn, kept: Session): Promise<Session> {
  const isDue = kept.body.status === 'open' && kept.body.expires_at <= turn.now;
  return isDue ? await expireCheckout(turn, kept) : kept;
}

interface Buyer {
  readonly id: string | null;
  readonly email: string | null;
  readonly name: string | null;
}

async function buyerOf(turn: Turn, { body }: Session): Promise<Buyer> {
  const id = idIn(body.customer);
  if (id === null) return { id, email: body.customer_email ?? 'buyer@example.com', name: 'Test Buyer' };
  const { body: customer } = await need(turn, 'customer', id, 'customer');
  return { id, email: customer.email, name: customer.name ?? null };
}

async function makeCustomer(turn: Turn, { email, name }: Buyer): Promise<string> {
  const given = { email, name, description: null, metadata: {} };
  const customer = customerShape(turn.newId('cus_', 14), turn.now, given);
  await turn.objects.put('customer', customer, { hidden: { card: 'works' } });
  await turn.emit('customer.created', customer);
  return customer.id;
}
