import type { Kind } from '../object-kinds.ts';
import { need } from '../turn.ts';
import { catalogRoutes } from './catalog.ts';
import { checkoutRoutes } from './checkout.ts';
import { eventRoutes } from './events.ts';
import { invoiceRoutes } from './invoices.ts';
import { paymentRoutes } from './payments.ts';
import type { Route } from './route.ts';
import { subscriptionRoutes } from './subscriptions.ts';

/** What can be asked for by its id, and what the provider calls the id when there is no such thing. */
const retrievable: readonly (readonly [path: string, kind: Kind, param: string])[] = [
  ['/v1/products', 'product', 'id'],
  ['/v1/prices', 'price', 'price'],
  ['/v1/customers', 'customer', 'id'],
  ['/v1/checkout/sessions', 'checkout.session', 'session'],
  ['/v1/payment_intents', 'payment_intent', 'intent'],
  ['/v1/charges', 'charge', 'id'],
  ['/v1/refunds', 'refund', 'id'],
  ['/v1/subscriptions', 'subscription', 'id'],
  ['/v1/invoices', 'invoice', 'id'],
  ['/v1/invoiceitems', 'invoiceitem', 'id'],
  ['/v1/events', 'event', 'id'],
  ['/v1/webhook_endpoints', 'webhook_endpoint', 'webhook_endpoint'],
];

const retrieveRoutes = retrievable.map(([path, kind, param]): Route => {
  return {
    method: 'GET',
    path: `${path}/:id`,
    read: async (objects, { id }) => (await need({ objects }, kind, id, param, 404)).body,
  };
});

const routes: readonly Route[] = [
  ...catalogRoutes,
  ...checkoutRoutes,
  ...paymentRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
  ...eventRoutes,
  ...retrieveRoutes,
];

/** By method and path with every id as `:id`; no path of the wire has two ids or words that look like one. */
export interface FoundRoute {
  readonly route: Route;
  readonly id: string;
}

export function findRoute(method: string, pathname: string): FoundRoute | null {
  const steps = pathname.split('/');
  for (const route of routes) {
    if (route.method !== method) continue;
    const wanted = route.path.split('/');
    if (wanted.length !== steps.length) continue;
    if (!wanted.every((step, at) => step === steps[at] || (step === ':id' && steps[at] !== ''))) continue;
    const id = steps[wanted.indexOf(':id')] ?? '';
    return { route, id: decoded(id) };
  }
  return null;
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id).slice(0, 255).replaceAll('\0', '').toWellFormed();
  } catch {
    return id.slice(0, 255);
  }
}
