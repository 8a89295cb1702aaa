import type { Clock } from '../../ports/clock.ts';
import { isRefusal } from '../api-errors.ts';
import { completeCheckout } from '../billing/checkout.ts';
import { payInvoice } from '../billing/payments.ts';
import { changeSubscription } from '../billing/subscriptions.ts';
import { createParams, isFromElsewhere, type Params, readParameters } from '../request-params.ts';
import { type Card, cards } from '../state/object-store.ts';
import { need, type World } from '../state/transaction.ts';
import type { WebhookDelivery } from '../state/webhook-delivery.ts';
import { checkoutPage, invoicePage, portalPage, successUrl, welcomePage } from './billing-pages.ts';
import { escaped, notFoundPage, page, seeOther, styleSheet } from './page.ts';

interface PagesOptions {
  readonly world: World;
  readonly delivery: WebhookDelivery;
  readonly clock: Clock;
}

/** The provider waits this long for the webhook's answer before it redirects the buyer. */
const WAITED_MS = 10_000;
const MANY = 100;

/** The pages for users. Every action is a form, without a script. */
export function createPages({ world, delivery, clock }: PagesOptions) {
  async function deliverAll(): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([delivery.nudge(), clock.sleep(WAITED_MS, waiting.signal)]);
    waiting.abort();
  }

  async function checkout(id: string, action: string | undefined, url: URL): Promise<Response> {
    const kept = await need(world, 'checkout.session', id, 'session', 404);
    if (action === undefined) {
      return checkoutPage(kept, await world.now(), { wasDeclined: url.searchParams.has('declined') });
    }
    if (action === 'cancel') return seeOther(kept.body.cancel_url ?? `/checkout/${id}`);
    const card = cardFor(action);
    if (card === null) return notFoundPage();
    const result = await world.change(async (turn) =>
      completeCheckout(turn, await need(turn, 'checkout.session', id, 'session', 404), card),
    );
    await deliverAll();
    if (result.outcome === 'declined') return seeOther(`/checkout/${id}?declined`);
    // A second click of the same buyer has the same result as the first.
    const isPaid = result.session.status === 'complete';
    return isPaid ? seeOther(successUrl(result.session)) : seeOther(`/checkout/${id}`);
  }

  async function invoice(id: string, action: string | undefined): Promise<Response> {
    const { body } = await need(world, 'invoice', id, 'invoice', 404);
    if (action === undefined) return invoicePage(body);
    const card = cardFor(action);
    if (card === null) return notFoundPage();
    await world.change(async (turn) => {
      const { body: current } = await need(turn, 'invoice', id, 'invoice', 404);
      if (current.status === 'open') await payInvoice(turn, current, card);
    });
    await deliverAll();
    return seeOther(`/invoice/${id}`);
  }

  async function portal(id: string, action: string | undefined, params: Params): Promise<Response> {
    const { body: session } = await need(world, 'billing_portal.session', id, 'session', 404);
    const { customer } = session;
    if (action === undefined) return portalPage(await portalView(session.id));
    await world.change(async (turn) => {
      if (action === 'card') {
        const { body } = await need(turn, 'customer', customer, 'customer');
        await turn.objects.put('customer', body, {
          hidden: { card: params.choice('card', cards) ?? 'works' },
        });
        return;
      }
      const kept = await need(turn, 'subscription', params.needed('subscription', 255), 'subscription', 404);
      if (kept.body.customer !== customer || kept.body.ended_at !== null) return;
      await changeSubscription(turn, kept, { cancelAtPeriodEnd: action === 'cancel', proration: 'none' });
    });
    await deliverAll();
    return seeOther(`/portal/${id}`);
  }

  async function portalView(id: string): Promise<Parameters<typeof portalPage>[0]> {
    const { objects } = world;
    const { body: session } = await need(world, 'billing_portal.session', id, 'session', 404);
    const { body: customer, hidden } = await need(world, 'customer', session.customer, 'customer', 404);
    const asked = { where: { customer: customer.id }, limit: MANY };
    const subscriptions = (await objects.list('subscription', asked)).data;
    const invoices = (await objects.list('invoice', asked)).data;
    const products = subscriptions.map((one) => String(one.items.data[0]?.price.product));
    const found = await Promise.all([...new Set(products)].map((one) => objects.find('product', one)));
    const names = new Map(found.flatMap((one) => (one === null ? [] : [[one.body.id, one.body.name]])));
    return { session, customer, card: hidden.card, subscriptions, invoices, names };
  }

  async function answer(request: Request, url: URL): Promise<Response | null> {
    const [, room, id = '', action, ...rest] = url.pathname.split('/');
    const { method } = request;
    if (method === 'GET' && url.pathname === '/') return welcomePage();
    if (method === 'GET' && url.pathname === '/sandbox/style.css') return styleSheet();
    if (room !== 'checkout' && room !== 'invoice' && room !== 'portal') return null;
    const isClick = method === 'POST' && action !== undefined;
    const isLook = method === 'GET' && action === undefined;
    if (rest.length > 0 || id === '' || (!isClick && !isLook)) return notFoundPage();
    if (isClick && isFromElsewhere(request, url))
      return refusedPage('This form was sent from another site.', 403);
    if (room === 'checkout') return await checkout(id, action, url);
    if (room === 'invoice') return await invoice(id, action);
    return await portal(id, action, createParams(await readParameters(request, url)));
  }

  return async (request: Request, url: URL): Promise<Response | null> => {
    try {
      return await answer(request, url);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return error.status === 404 ? notFoundPage() : refusedPage(error.message, error.status);
    }
  };
}

function cardFor(action: string): Card | null {
  return action === 'pay' ? 'works' : action === 'decline' ? 'declines' : null;
}

function refusedPage(message: string, status: number): Response {
  const body = `<section class="card"><h1>That did not work</h1><p role="alert">${escaped(message)}</p></section>`;
  return page({ title: 'Refused', body, status });
}
