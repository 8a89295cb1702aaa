import { type CreditPack, findCreditPack } from '../catalog/credit-pack.ts';
import { type CheckoutParts, type OpenedPage, returnUrls } from './checkout-parts.ts';
import { ensureCustomer } from './ensure-customer.ts';

export type PackCheckout =
  | { readonly outcome: 'opened'; readonly purchaseId: string; readonly page: OpenedPage }
  | { readonly outcome: 'no-such-pack' | 'no-such-company' }
  /** In the provider's own words, as `No such price: 'price_1'` (P-26). Nothing is sold. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

/**
 * Opens the provider's page for a pack. The purchase is written before the provider is asked, with what it costs and
 * brings: whatever the provider tells later is compared with it, and an event finds it by the id on the session even
 * if this process dies before the session's own id is noted.
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
  const onCustomer = (id: string) => paymentEvents.wake([`customer:${id}`]);
  const customer = await ensureCustomer({ database, provider, secrets, onCustomer }, companyId);
  if (customer.outcome !== 'ensured') return customer;
  const purchaseId = secrets.newId();
  await addPurchase(parts, { purchaseId, companyId, pack });
  const opened = await provider.createCheckoutSession(
    {
      mode: 'payment',
      priceId: pack.providerPriceId,
      quantity: 1,
      customerId: customer.customerId,
      referenceId: purchaseId,
      metadata: { purchaseId, companyId, creditPackId },
      ...returnUrls(consoleUrl),
    },
    `purchase:${purchaseId}:session`,
  );
  const now = new Date(clock.now());
  if (opened.outcome === 'failed') {
    await database.query(
      `update credit_pack_purchases set status = 'CANCELED', updated_at = $2 where id = $1 and status = 'PENDING'`,
      [purchaseId, now],
    );
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

async function addPurchase(
  { database, clock }: CheckoutParts,
  { purchaseId, companyId, pack }: { purchaseId: string; companyId: string; pack: CreditPack },
): Promise<void> {
  await database.query(
    `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
       created_at, updated_at)
     values ($1, $2, $3, 'PENDING', $4, $5, $6, $7, $7)`,
    [
      purchaseId,
      companyId,
      pack.id,
      pack.creditsMicro,
      pack.priceMinor,
      pack.currency,
      new Date(clock.now()),
    ],
  );
}
