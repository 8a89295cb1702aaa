import type { CheckoutParts } from './checkout-parts.ts';
import { ensureCustomer } from './ensure-customer.ts';

export type BillingPortal =
  | { readonly outcome: 'opened'; readonly url: string }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** The provider's page on which a company changes its card, its plan, or ends it. A new one each time. */
export async function createBillingPortal(parts: CheckoutParts, companyId: string): Promise<BillingPortal> {
  const { database, provider, secrets, paymentEvents, consoleUrl } = parts;
  const onCustomer = (id: string) => paymentEvents.wake([`customer:${id}`]);
  const customer = await ensureCustomer({ database, provider, secrets, onCustomer }, companyId);
  if (customer.outcome !== 'ensured') return customer;
  const returnUrl = `${consoleUrl.replace(/\/+$/, '')}/billing`;
  const wanted = { customerId: customer.customerId, returnUrl };
  const opened = await provider.createPortalSession(wanted, `portal:${secrets.newId()}`);
  if (opened.outcome === 'failed') return { outcome: 'provider-failed', message: opened.failure.message };
  return { outcome: 'opened', url: opened.value.url };
}
