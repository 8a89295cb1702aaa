import type Stripe from 'stripe';
import type { Kept } from '../object-kinds.ts';
import { escaped, money, page } from './page.ts';

/** What is bought, for how much, and the three things a buyer can do. Once it is closed, only the way back. */
export function checkoutPage(
  { body, hidden }: Kept<'checkout.session'>,
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

export function every({
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
