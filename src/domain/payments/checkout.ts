import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type {
  CheckoutTaxes,
  Created,
  PaymentProvider,
  ProviderAnswer,
  ProviderFailure,
} from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { findCompany, linkProviderCustomer, replaceProviderCustomer } from '../accounts/company.ts';
import { listAdmins } from '../accounts/members.ts';
import { type CreditPack, findCreditPack } from '../catalog/credit-pack.ts';
import { updateStaleCustomers } from './customer-profile.ts';
import type { PaymentEvents } from './payment-events.ts';
import { cancelPurchase } from './purchase.ts';

/** What a checkout requires. */
export interface CheckoutParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    | 'identity'
    | 'createCustomer'
    | 'updateCustomer'
    | 'createCheckoutSession'
    | 'expireCheckoutSession'
    | 'retrieveCheckoutSession'
    | 'createPortalSession'
  >;
  readonly paymentEvents: Pick<PaymentEvents, 'wake'>;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The console's address from outside, without a trailing slash. */
  readonly consoleUrl: string;
  readonly checkoutTaxes: CheckoutTaxes;
}

/** The provider's payment page. */
export interface OpenedPage {
  readonly url: string;
  readonly providerSessionId: string;
}

type PackCheckout =
  | { readonly outcome: 'opened'; readonly purchaseId: string; readonly page: OpenedPage }
  | { readonly outcome: 'no-such-pack' | 'no-such-company' }
  /** The provider's own message, as `No such price: 'price_1'` (P-26). Nothing is sold. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

/**
 * Opens the provider's page for a pack. The purchase is stored before the provider is called, with its price and
 * credits: later events are compared with it, and find it by the id on the session even if this process crashes before
 * the session's own id is stored.
 */
export async function createCreditPackCheckout(
  parts: CheckoutParts,
  { companyId, creditPackId }: { readonly companyId: string; readonly creditPackId: string },
): Promise<PackCheckout> {
  const { database, provider, paymentEvents, secrets, clock, consoleUrl } = parts;
  const pack = await findCreditPack(database, creditPackId);
  if (pack === null || pack.status !== 'ACTIVE' || pack.providerPriceId === null) {
    return { outcome: 'no-such-pack' };
  }
  const customer = await ensureCustomer(parts, companyId);
  if (customer.outcome !== 'ensured') return customer;
  const purchaseId = secrets.newId();
  await addPurchase(parts, { purchaseId, companyId, pack });
  const params = {
    mode: 'payment' as const,
    priceId: pack.providerPriceId,
    quantity: 1,
    // An operator may have added currencies to the price at the provider. A purchase is of one price.
    currency: pack.currency,
    referenceId: purchaseId,
    metadata: { purchaseId, companyId, creditPackId },
    taxes: parts.checkoutTaxes,
    ...returnUrls(consoleUrl),
  };
  const opened = await forCustomer(parts, companyId, customer.customerId, (customerId, key) =>
    provider.createCheckoutSession({ ...params, customerId }, `purchase:${purchaseId}:session${key}`),
  );
  const now = new Date(clock.now());
  if (opened.outcome === 'failed') {
    await cancelPurchase(database, purchaseId, now);
    return { outcome: 'provider-failed', message: opened.failure.message };
  }
  const { id: providerSessionId, url, expiresAtMs } = opened.value;
  await database.query(
    `update credit_pack_purchases set provider_session_id = coalesce(provider_session_id, $2), expires_at = $3,
       updated_at = $4 where id = $1`,
    [purchaseId, providerSessionId, new Date(expiresAtMs), now],
  );
  await paymentEvents.wake([`purchase:${purchaseId}`, `session:${providerSessionId}`]);
  return { outcome: 'opened', purchaseId, page: { url, providerSessionId } };
}

type BillingPortal =
  | { readonly outcome: 'opened'; readonly url: string }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** The provider's page on which a company changes its card or plan, or cancels. A new page each time. */
export async function createBillingPortal(parts: CheckoutParts, companyId: string): Promise<BillingPortal> {
  const { provider, secrets, consoleUrl } = parts;
  const customer = await ensureCustomer(parts, companyId);
  if (customer.outcome !== 'ensured') return customer;
  const returnUrl = billingPage(consoleUrl);
  const opened = await forCustomer(parts, companyId, customer.customerId, (customerId) =>
    provider.createPortalSession({ customerId, returnUrl }, `portal:${secrets.newId()}`),
  );
  if (opened.outcome === 'failed') return { outcome: 'provider-failed', message: opened.failure.message };
  return { outcome: 'opened', url: opened.value.url };
}

interface CustomerParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createCustomer' | 'updateCustomer'>;
  readonly secrets: Pick<Secrets, 'sha256'>;
  readonly log: Log;
  /** Events may wait for the customer. */
  readonly paymentEvents: Pick<PaymentEvents, 'wake'>;
}

type EnsuredCustomer =
  | { readonly outcome: 'ensured'; readonly customerId: string }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/**
 * The company's customer at the provider, created before anything is bought, so that every event about it finds its
 * company. There is one per company, also for concurrent requests: the provider returns the same customer for the same
 * idempotency key, and the first one stored counts. The key contains the customer's parameters, because the provider
 * refuses a key with other parameters.
 */
export async function ensureCustomer(parts: CustomerParts, companyId: string): Promise<EnsuredCustomer> {
  const { database, paymentEvents } = parts;
  const company = await findCompany(database, companyId);
  if (company === null) return { outcome: 'no-such-company' };
  if (company.providerCustomerId !== null)
    return { outcome: 'ensured', customerId: company.providerCustomerId };
  const made = await makeCustomer(parts, company, '');
  if (made.outcome === 'failed') return { outcome: 'provider-failed', message: made.failure.message };
  await linkProviderCustomer(database, { companyId, customerId: made.value.id });
  const customerId = (await findCompany(database, companyId))?.providerCustomerId ?? null;
  // Nothing may be bought for a customer that belongs to another company.
  if (customerId === null) throw new Error(`customer ${made.value.id} cannot be linked to ${companyId}`);
  await updateStaleCustomers(parts, { companyId });
  await paymentEvents.wake([`customer:${customerId}`]);
  return { outcome: 'ensured', customerId };
}

async function makeCustomer(
  { database, provider, secrets }: CustomerParts,
  { id: companyId, name }: { readonly id: string; readonly name: string },
  replacing: string,
): Promise<ProviderAnswer<Created>> {
  // The first admin's address, so that the parameters are the same for every caller.
  const [admin] = await listAdmins(database, companyId, { limit: 1 });
  const email = admin?.email ?? null;
  const words = secrets
    .sha256(JSON.stringify([name, email]))
    .toHex()
    .slice(0, 16);
  const params = { name, email, metadata: { companyId } };
  return await provider.createCustomer(params, `company:${companyId}:customer:${words}${replacing}`);
}

/**
 * Runs a request for the company's customer. If the provider has no such customer, because its key now belongs to
 * another mode or account, the company gets a new customer and the request is repeated, once, under another key:
 * `keySuffix` is part of the idempotency key.
 */
export async function forCustomer<T>(
  parts: CustomerParts,
  companyId: string,
  customerId: string,
  request: (customerId: string, keySuffix: string) => Promise<ProviderAnswer<T>>,
): Promise<ProviderAnswer<T>> {
  const { database, paymentEvents } = parts;
  const answer = await request(customerId, '');
  if (answer.outcome === 'done' || !isNoSuchCustomer(answer.failure, customerId)) return answer;
  const company = await findCompany(database, companyId);
  if (company === null) return answer;
  if (company.providerCustomerId === customerId) {
    const made = await makeCustomer(parts, company, `:replacing:${customerId}`);
    if (made.outcome === 'failed') return made;
    await replaceProviderCustomer(database, { companyId, staleId: customerId, customerId: made.value.id });
  }
  const present = (await findCompany(database, companyId))?.providerCustomerId ?? null;
  if (present === null || present === customerId) return answer;
  await updateStaleCustomers(parts, { companyId });
  await paymentEvents.wake([`customer:${present}`]);
  return await request(present, `:${present}`);
}

/** The provider's message: "No such customer: 'cus_1'", possibly with more text. */
function isNoSuchCustomer({ reason, message }: ProviderFailure, customerId: string): boolean {
  return reason === 'not-found' && message.startsWith('No such customer') && message.includes(customerId);
}

export function returnUrls(consoleUrl: string): { readonly successUrl: string; readonly cancelUrl: string } {
  const billing = billingPage(consoleUrl);
  return {
    successUrl: `${billing}?checkout=success&session_id={CHECKOUT_SESSION_ID}`,
    cancelUrl: `${billing}?checkout=canceled`,
  };
}

async function addPurchase(
  { database, clock }: CheckoutParts,
  { purchaseId, companyId, pack }: { purchaseId: string; companyId: string; pack: CreditPack },
): Promise<void> {
  await database.query(
    `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
       created_at, updated_at, credits_expire_after_days)
     values ($1, $2, $3, 'PENDING', $4, $5, $6, $7, $7, $8)`,
    [
      purchaseId,
      companyId,
      pack.id,
      pack.creditsMicro,
      pack.priceMinor,
      pack.currency,
      new Date(clock.now()),
      pack.creditsExpireAfterDays,
    ],
  );
}

function billingPage(consoleUrl: string): string {
  return `${consoleUrl.replace(/\/+$/, '')}/billing`;
}
