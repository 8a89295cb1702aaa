import type { CheckoutParts } from './checkout-parts.ts';
import { textIn } from './wire-fields.ts';

/** The one page of a company on which it may subscribe. */
export interface OpenCheckout {
  readonly id: string;
  readonly companyId: string;
  readonly planId: string;
  readonly providerSessionId: string | null;
  readonly url: string | null;
  readonly expiresAt: Date | null;
}

const COLUMNS = `id, company_id as "companyId", plan_id as "planId", provider_session_id as "providerSessionId", url,
  expires_at as "expiresAt"`;

/** The open one, of whichever plan; else a new one of this plan. An index sees to it that there is one alone. */
export async function openCheckoutOf(
  parts: CheckoutParts,
  companyId: string,
  planId: string,
): Promise<OpenCheckout> {
  const { database, secrets, clock } = parts;
  const now = new Date(clock.now());
  const [added] = await database.query<OpenCheckout>(
    `insert into subscription_checkouts (id, company_id, plan_id, status, created_at, updated_at)
     values ($1, $2, $3, 'OPEN', $4, $4)
     on conflict (company_id) where status = 'OPEN' do nothing returning ${COLUMNS}`,
    [secrets.newId(), companyId, planId, now],
  );
  if (added !== undefined) return added;
  const [present] = await database.query<OpenCheckout>(
    `select ${COLUMNS} from subscription_checkouts where company_id = $1 and status = 'OPEN'`,
    [companyId],
  );
  // It was closed in between.
  return present ?? (await openCheckoutOf(parts, companyId, planId));
}

export type ClosedCheckout =
  /** It is another one by now: look again. */
  | { readonly outcome: 'closed' | 'changed' }
  /** Nobody can take it back: its events say the rest. */
  | { readonly outcome: 'paid' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** At the provider first: a page that stays open there could still be paid. */
export async function closeOpenCheckout(
  parts: CheckoutParts,
  checkout: OpenCheckout,
): Promise<ClosedCheckout> {
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
  // Only as it was when it was looked at: a page that was opened meanwhile has to be closed at the provider, too.
  const closed = await parts.database.query(
    `update subscription_checkouts set status = 'EXPIRED', updated_at = $2
     where id = $1 and status = 'OPEN' and provider_session_id is not distinct from $3 returning id`,
    [id, new Date(parts.clock.now()), providerSessionId],
  );
  return { outcome: closed.length > 0 ? 'closed' : 'changed' };
}
