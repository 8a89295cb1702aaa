import type Stripe from 'stripe';
import type { Card, StoredObject } from '../state/object-store.ts';
import { day, escaped, money, page } from './page.ts';

/** Shows the items, the total and the buyer's three choices. A closed session shows only the link back. */
export function checkoutPage(
  { body, hidden }: StoredObject<'checkout.session'>,
  now: number,
  { wasDeclined }: { wasDeclined: boolean },
): Response {
  const total = money(body.amount_total ?? 0, body.currency ?? 'usd');
  const isOpen = body.status === 'open' && body.expires_at > now;
  const rows = hidden.lines.map(lineRow).join('\n');
  const trial = hidden.subscription?.trialDays ?? null;
  const content = `<section class="card" aria-labelledby="what">
<h1 id="what">${body.mode === 'subscription' ? 'Subscribe' : 'Pay'}</h1>
<p class="total">${escaped(total)}</p>
${trial === null ? '' : `<p class="soft">Free for ${trial} days, then the price below.</p>`}
${isOpen && wasDeclined ? declined() : ''}
<table><caption>Your order</caption>
<thead><tr><th scope="col">Item</th><th scope="col" class="amount">Price</th></tr></thead>
<tbody>
${rows}
</tbody></table>
${isOpen ? actions(body, total) : closed(body)}
</section>
<p class="soft">Test card ending in 4242 · session <code>${escaped(body.id.slice(0, 20))}…</code></p>`;
  const formTargets = [body.success_url, body.cancel_url];
  const status = isOpen || body.status === 'complete' ? 200 : 410;
  return page({ title: 'Checkout', body: content, formTargets, status });
}

function lineRow({ description, quantity, amount_total, currency, price }: Stripe.LineItem): string {
  const recurring = price?.recurring ?? null;
  return `<tr><td>${escaped(description)}<br><span class="soft">Quantity ${quantity ?? 1}</span></td>
<td class="amount">${escaped(money(amount_total, currency))}${recurring === null ? '' : `<br><span class="soft">${escaped(every(recurring))}</span>`}</td></tr>`;
}

function every({
  interval,
  interval_count: count,
}: Pick<Stripe.Price.Recurring, 'interval' | 'interval_count'>): string {
  return count === 1 ? `every ${interval}` : `every ${count} ${interval}s`;
}

function declined(): string {
  return '<p class="notice" role="alert">Your card was declined. Nothing was charged. You can try again.</p>';
}

function actions(body: Stripe.Checkout.Session, total: string): string {
  const verb = body.mode === 'subscription' ? 'Subscribe for' : 'Pay';
  const form = (action: string, label: string, look: string) =>
    `<form method="post" action="/checkout/${escaped(body.id)}/${action}"><button type="submit" class="${look}">${escaped(label)}</button></form>`;
  return `<div class="actions">
${form('pay', `${verb} ${total}`, 'main')}
${form('decline', 'Pay with a card that is declined', 'bad')}
${body.cancel_url === null ? '' : form('cancel', 'Cancel and go back', '')}
</div>`;
}

function closed(body: Stripe.Checkout.Session): string {
  if (body.status === 'complete') {
    const back = successUrl(body);
    return `<p class="notice good" role="status">This is paid. It cannot be paid again.</p>
<p><a class="button" href="${escaped(back)}">Continue</a></p>`;
  }
  const back = body.cancel_url;
  return `<p class="notice" role="status">This checkout has expired. Nothing was charged.</p>
${back === null ? '' : `<p><a class="button" href="${escaped(back)}">Go back</a></p>`}`;
}

export function successUrl({ success_url, id }: Stripe.Checkout.Session): string {
  return (success_url ?? '/').replaceAll('{CHECKOUT_SESSION_ID}', id);
}

interface PortalView {
  readonly session: Stripe.BillingPortal.Session;
  readonly customer: Stripe.Customer;
  readonly card: Card;
  readonly subscriptions: readonly Stripe.Subscription[];
  readonly invoices: readonly Stripe.Invoice[];
  /** Product names by id. */
  readonly names: ReadonlyMap<string, string>;
}

const CARD_WORDS: Readonly<Record<Card, string>> = {
  works: 'A card that works',
  declines: 'A card that is declined',
  requires_action: 'A card that asks for confirmation',
  none: 'No card',
};

/** The customer's view: subscriptions to cancel or keep, the card that pays for them, and the invoices. */
export function portalPage(view: PortalView): Response {
  const { session, customer, card } = view;
  const options = Object.entries(CARD_WORDS).map(([value, words]) => {
    return `<option value="${value}"${value === card ? ' selected' : ''}>${words}</option>`;
  });
  const body = `<section class="card"><h1>Billing</h1>
<p class="soft">${escaped(customer.name ?? customer.email ?? customer.id)}</p></section>
<section class="card" aria-labelledby="plans"><h2 id="plans">Subscriptions</h2>
${view.subscriptions.map((one) => subscriptionPart(one, view)).join('\n') || '<p class="soft">None.</p>'}</section>
<section class="card" aria-labelledby="card"><h2 id="card">Payment method</h2>
<form method="post" action="/portal/${escaped(session.id)}/card">
<label for="choice">What happens at the next payment</label>
<select id="choice" name="card">${options.join('')}</select>
<button type="submit">Save</button></form></section>
<section class="card">${invoiceTable(view.invoices)}</section>
${session.return_url === null ? '' : `<p><a class="button" href="${escaped(session.return_url)}">Go back</a></p>`}`;
  return page({ title: 'Billing', body, formTargets: [session.return_url] });
}

function subscriptionPart(subscription: Stripe.Subscription, { session, names }: PortalView): string {
  const { price } = subscription.items.data[0] ?? {};
  const name = names.get(String(price?.product)) ?? 'Subscription';
  const cost = price === undefined ? '' : money(price.unit_amount ?? 0, price.currency);
  const often = price?.recurring ? every(price.recurring) : '';
  const isLive = ['active', 'trialing', 'past_due', 'paused'].includes(subscription.status);
  const ends = subscription.cancel_at_period_end;
  const action = ends ? 'keep' : 'cancel';
  const label = ends ? 'Keep this subscription' : 'Cancel at the end of the period';
  const form = `<form method="post" action="/portal/${escaped(session.id)}/${action}">
<input type="hidden" name="subscription" value="${escaped(subscription.id)}">
<button type="submit" class="${ends ? '' : 'bad'}">${label}</button></form>`;
  return `<p><strong>${escaped(name)}</strong> ${escaped(cost)} ${escaped(often)}</p>
<p class="soft"><span class="state">${escaped(subscription.status)}</span> · ${ends ? 'ends' : 'next period from'} ${day(subscription.current_period_end)}</p>
${isLive ? form : ''}`;
}

function invoiceTable(invoices: readonly Stripe.Invoice[]): string {
  const rows = invoices.map(({ id, number, created, status, amount_due, currency }) => {
    return `<tr><td><a href="/invoice/${escaped(id)}">${escaped(number ?? 'Draft')}</a></td><td>${day(created)}</td>
<td>${escaped(status ?? '')}</td><td class="amount">${escaped(money(amount_due, currency))}</td></tr>`;
  });
  return `<table><caption>Invoices</caption><thead><tr><th scope="col">Number</th><th scope="col">Date</th>
<th scope="col">State</th><th scope="col" class="amount">Amount</th></tr></thead>
<tbody>${rows.join('\n') || '<tr><td colspan="4">None yet.</td></tr>'}</tbody></table>`;
}

/** The page on which an open invoice can be paid. */
export function invoicePage(invoice: Stripe.Invoice): Response {
  const { currency, due_date: due } = invoice;
  const rows = invoice.lines.data.map(({ description, amount }) => {
    return `<tr><td>${escaped(description ?? '')}</td><td class="amount">${escaped(money(amount, currency))}</td></tr>`;
  });
  const form = (action: string, label: string, look: string) =>
    `<form method="post" action="/invoice/${escaped(invoice.id)}/${action}"><button type="submit" class="${look}">${label}</button></form>`;
  const wasTried = invoice.status === 'open' && invoice.attempt_count > 0;
  const state =
    invoice.status === 'open'
      ? `<div class="actions">${form('pay', `Pay ${escaped(money(invoice.amount_remaining, currency))}`, 'main')}
${form('decline', 'Pay with a card that is declined', 'bad')}</div>`
      : `<p class="notice ${invoice.status === 'paid' ? 'good' : ''}" role="status">This invoice is ${escaped(invoice.status ?? 'a draft')}.</p>`;
  const body = `<section class="card"><h1>Invoice ${escaped(invoice.number ?? '(draft)')}</h1>
<p class="total">${escaped(money(invoice.amount_due, currency))}</p>
<p class="soft">${escaped(invoice.customer_name ?? '')}${due === null ? '' : ` · due ${day(due)}`}</p>
${wasTried ? '<p class="notice" role="alert">The last payment failed. Nothing was charged.</p>' : ''}
<table><caption>What it is for</caption><thead><tr><th scope="col">Item</th><th scope="col" class="amount">Amount</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table>
${state}</section>`;
  return page({ title: `Invoice ${invoice.number ?? ''}`, body });
}

export function welcomePage(): Response {
  const body = `<section class="card"><h1>This stands in for the payment provider</h1>
<p>Checkout pages, invoices and the billing portal open from links. Programs use <code>/v1</code> with any secret key.</p>
<p class="soft">Move its clock with <code>POST /sandbox/clock</code>, make things go wrong with <code>POST /sandbox/faults</code>
and <code>POST /sandbox/cards</code>, look at sent events with <code>GET /sandbox/deliveries</code>.</p></section>`;
  return page({ title: 'Welcome', body });
}
