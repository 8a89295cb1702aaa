import type { Transaction } from '../../ports/database.ts';
import { findCompany } from '../accounts/company.ts';
import { findPlan, type Plan } from '../catalog/plan.ts';
import { currentSubscription, liveSubscriptions } from '../subscriptions/subscription.ts';
import { type CheckoutParts, ensureCustomer, forCustomer, type OpenedPage, returnUrls } from './checkout.ts';
import { lockCompany, textIn } from './provider-objects.ts';

type SubscriptionCheckout =
  | { readonly outcome: 'opened'; readonly page: OpenedPage }
  | { readonly outcome: 'no-such-plan' | 'no-such-company' }
  /** POSTPAID plans are not sold (P-29), inactive ones no longer, and those without a price not yet. */
  | { readonly outcome: 'not-for-sale'; readonly message: string }
  | { readonly outcome: 'by-agreement'; readonly message: string }
  | { readonly outcome: 'subscribed-already'; readonly message: string }
  /** Another member of the company opened a checkout of another plan at the same time. */
  | { readonly outcome: 'replaced'; readonly message: string }
  | { readonly outcome: 'provider-failed'; readonly message: string };

const INVOICED =
  'The company pays for its usage by monthly invoice, and a plan would be paid beside that. Ask us to change how it pays first.';

/** A checkout page that expires sooner than this is not reused. */
const LEAST_LEFT_MS = 5 * 60_000;
const MOST_TRIES = 3;

/**
 * Opens the provider's page for a plan. A company has at most one live subscription and at most one open page, because
 * two could both be paid: the page for another plan is closed at the provider before this one is opened, and repeated
 * or concurrent requests for the same plan get the same page.
 */
export async function createSubscriptionCheckout(
  parts: CheckoutParts,
  { companyId, planId }: { readonly companyId: string; readonly planId: string },
): Promise<SubscriptionCheckout> {
  const { database } = parts;
  const plan = await findPlan(database, planId);
  if (plan === null) return { outcome: 'no-such-plan' };
  const problem = notForSale(plan);
  if (problem !== null) {
    const isAgreed = plan.active && plan.billingMode === 'POSTPAID';
    return { outcome: isAgreed ? 'by-agreement' : 'not-for-sale', message: problem };
  }
  const [live] = await liveSubscriptions(database, companyId);
  if (live !== undefined) return subscribedAlready();
  const customer = await ensureCustomer(parts, companyId);
  if (customer.outcome !== 'ensured') return customer;
  for (let count = 0; count < MOST_TRIES; count += 1) {
    const checkout = await openCheckoutOf(parts, companyId, planId);
    if (checkout === 'subscribed') return subscribedAlready();
    if (checkout === 'invoiced') return { outcome: 'by-agreement', message: INVOICED };
    if (checkout.planId === planId && isUsable(parts, checkout, plan)) {
      return await openPage(parts, checkout, plan, customer.customerId);
    }
    const closed = await closeOpenCheckout(parts, checkout);
    if (closed.outcome === 'paid') return subscribedAlready();
    if (closed.outcome === 'provider-failed') return closed;
  }
  return replaced();
}

async function openPage(
  parts: CheckoutParts,
  checkout: OpenCheckout,
  plan: Plan,
  customerId: string,
): Promise<SubscriptionCheckout> {
  const { database, provider, paymentEvents, clock, consoleUrl } = parts;
  if (checkout.url !== null && checkout.providerSessionId !== null) {
    const { url, providerSessionId } = checkout;
    return { outcome: 'opened', page: { url, providerSessionId } };
  }
  const metadata = { checkoutId: checkout.id, companyId: checkout.companyId, planId: plan.id };
  // A trial is for companies that never subscribed: otherwise canceling and subscribing again would be free forever.
  const isNew = plan.trialDays !== null && (await currentSubscription(database, checkout.companyId)) === null;
  const params = {
    mode: 'subscription' as const,
    priceId: plan.providerPriceId ?? '',
    quantity: 1,
    referenceId: checkout.id,
    metadata,
    trialDays: isNew ? plan.trialDays : null,
    taxes: parts.checkoutTaxes,
    ...returnUrls(consoleUrl),
  };
  const opened = await forCustomer(parts, checkout.companyId, customerId, (customer, key) =>
    provider.createCheckoutSession(
      { ...params, customerId: customer },
      `subscription-checkout:${checkout.id}:session${key}`,
    ),
  );
  const now = new Date(clock.now());
  if (opened.outcome === 'failed') {
    await database.query(
      `update subscription_checkouts set status = 'EXPIRED', updated_at = $2
       where id = $1 and status = 'OPEN' and provider_session_id is null`,
      [checkout.id, now],
    );
    return { outcome: 'provider-failed', message: opened.failure.message };
  }
  const { id: providerSessionId, url, expiresAtMs } = opened.value;
  const noted = await database.query(
    `update subscription_checkouts set provider_session_id = $2, url = $3, expires_at = $4, updated_at = $5,
       provider_identity = $6
     where id = $1 and status = 'OPEN' returning id`,
    [checkout.id, providerSessionId, url, new Date(expiresAtMs), now, provider.identity],
  );
  if (noted.length === 0) {
    // Another member chose another plan in the meantime: of two pages that could be paid, this one is closed.
    await provider.expireCheckoutSession(providerSessionId, `subscription-checkout:${checkout.id}:expire`);
    return replaced();
  }
  await paymentEvents.wake([`session:${providerSessionId}`]);
  return { outcome: 'opened', page: { url, providerSessionId } };
}

/** A page opened before the plan changed sells it at the old price; one of another provider, mode or account pays into that. */
function isUsable({ clock, provider }: CheckoutParts, checkout: OpenCheckout, plan: Plan): boolean {
  const { expiresAt, createdAt, providerSessionId, providerIdentity } = checkout;
  if (createdAt < plan.updatedAt) return false;
  if (providerSessionId !== null && providerIdentity !== provider.identity) return false;
  return expiresAt === null || expiresAt.getTime() - clock.now() > LEAST_LEFT_MS;
}

/** Why a company cannot subscribe to it by itself; null if it can. */
export function notForSale(plan: Plan): string | null {
  if (!plan.active) return `Plan "${plan.name}" is not sold any more.`;
  if (plan.billingMode === 'POSTPAID') {
    return `Plan "${plan.name}" is paid by invoice, on terms that are agreed on. Contact us for it (requestPlan).`;
  }
  if (plan.providerPriceId === null) {
    return `Plan "${plan.name}" has no price at the payment provider yet: a super admin runs syncAllPlansProviderPricing.`;
  }
  return null;
}

function subscribedAlready(): SubscriptionCheckout {
  const message = 'The company has a subscription already. Change or cancel it in the billing portal.';
  return { outcome: 'subscribed-already', message };
}

function replaced(): SubscriptionCheckout {
  return { outcome: 'replaced', message: 'Another checkout of your company was opened just now. Try again.' };
}

/** The one page on which a company may subscribe. */
interface OpenCheckout {
  readonly id: string;
  readonly companyId: string;
  readonly planId: string;
  readonly providerSessionId: string | null;
  readonly url: string | null;
  /** Null if no page is open, or an earlier release opened it. */
  readonly providerIdentity: string | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

const COLUMNS = `id, company_id as "companyId", plan_id as "planId", provider_session_id as "providerSessionId", url,
  provider_identity as "providerIdentity", expires_at as "expiresAt", created_at as "createdAt"`;

/**
 * The open page, of any plan; otherwise a new one of this plan, unless the company has subscribed. An index ensures that
 * there is only one. The event of a paid page closes it and stores the subscription under the company's lock, so no page
 * is added before that subscription can be seen.
 */
async function openCheckoutOf(
  parts: CheckoutParts,
  companyId: string,
  planId: string,
): Promise<OpenCheckout | 'subscribed' | 'invoiced'> {
  return await parts.database.transaction(async (transaction) => {
    await lockCompany(transaction, companyId);
    if ((await findCompany(transaction, companyId))?.billingMode === 'POSTPAID') return 'invoiced';
    const [live] = await liveSubscriptions(transaction, companyId);
    return live === undefined ? await findOrAddCheckout(parts, transaction, companyId, planId) : 'subscribed';
  });
}

async function findOrAddCheckout(
  parts: CheckoutParts,
  transaction: Transaction,
  companyId: string,
  planId: string,
): Promise<OpenCheckout> {
  const [added] = await transaction.query<OpenCheckout>(
    `insert into subscription_checkouts (id, company_id, plan_id, status, created_at, updated_at)
     values ($1, $2, $3, 'OPEN', $4, $4)
     on conflict (company_id) where status = 'OPEN' do nothing returning ${COLUMNS}`,
    [parts.secrets.newId(), companyId, planId, new Date(parts.clock.now())],
  );
  if (added !== undefined) return added;
  const [present] = await transaction.query<OpenCheckout>(
    `select ${COLUMNS} from subscription_checkouts where company_id = $1 and status = 'OPEN'`,
    [companyId],
  );
  // It was closed in the meantime.
  return present ?? (await findOrAddCheckout(parts, transaction, companyId, planId));
}

type ClosedCheckout =
  /** It has been replaced: read it again. */
  | { readonly outcome: 'closed' | 'changed' }
  /** It cannot be closed: its events do the rest. */
  | { readonly outcome: 'paid' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** At the provider first: a page that stays open there could still be paid. */
async function closeOpenCheckout(parts: CheckoutParts, checkout: OpenCheckout): Promise<ClosedCheckout> {
  const { provider } = parts;
  const { id, providerSessionId } = checkout;
  if (providerSessionId !== null) {
    const expired = await provider.expireCheckoutSession(
      providerSessionId,
      `subscription-checkout:${id}:expire`,
    );
    if (expired.outcome === 'failed') {
      const { reason, message } = expired.failure;
      if (reason === 'unavailable' || reason === 'rate-limited')
        return { outcome: 'provider-failed', message };
      if (reason === 'refused') {
        const session = await provider.retrieveCheckoutSession(providerSessionId);
        if (session.outcome === 'done' && textIn(session.value.status) === 'complete')
          return { outcome: 'paid' };
        if (session.outcome === 'failed' && session.failure.reason !== 'not-found') {
          return { outcome: 'provider-failed', message: session.failure.message };
        }
      }
    }
  }
  // Only if unchanged: a page that was opened in the meantime must be closed at the provider, too.
  const closed = await parts.database.query(
    `update subscription_checkouts set status = 'EXPIRED', updated_at = $2
     where id = $1 and status = 'OPEN' and provider_session_id is not distinct from $3 returning id`,
    [id, new Date(parts.clock.now()), providerSessionId],
  );
  return { outcome: closed.length > 0 ? 'closed' : 'changed' };
}
