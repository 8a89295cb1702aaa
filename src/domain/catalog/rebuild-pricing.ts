import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type {
  PaymentProvider,
  PriceParams,
  ProviderAnswer,
  WireObject,
} from '../../ports/payment-provider.ts';
import { type CreditPack, findCreditPack } from './credit-pack.ts';
import { findPlan, type Plan } from './plan.ts';

/**
 * The provider's ids become stale when its secret key is replaced by one of another account or mode, for example from
 * test mode to live mode: the provider then answers "No such price". Rebuilding looks up the price and the product of a
 * plan or pack and creates those that the provider does not have; the others are kept. It is safe to repeat, and
 * concurrent runs create one price, because the idempotency keys contain our id and the id that is replaced.
 */
interface RebuildParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    'createProduct' | 'createPrice' | 'retrieveProduct' | 'retrievePrice'
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new price: events may be waiting for a plan with that price. */
  readonly onPriced?: (providerPriceId: string) => Promise<void>;
}

type RebuiltPlans =
  | {
      readonly outcome: 'rebuilt';
      /** All requested plans, in the requested order. */
      readonly plans: readonly Plan[];
      /** The ids of the plans that now have another price. */
      readonly changed: ReadonlySet<string>;
    }
  | { readonly outcome: 'no-such-plan'; readonly planId: string }
  | { readonly outcome: 'not-sold'; readonly message: string }
  /** The plans before the failed one are rebuilt; running it again continues. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

export const MOST_PLANS_REBUILT = 100;

export async function rebuildPlanPricing(
  parts: RebuildParts,
  planIds: readonly string[],
): Promise<RebuiltPlans> {
  const { database, clock, log, onPriced } = parts;
  const plans: Plan[] = [];
  for (const planId of new Set(planIds)) {
    const plan = await findPlan(database, planId);
    if (plan === null) return { outcome: 'no-such-plan', planId };
    if (plan.billingMode === 'POSTPAID') {
      const message = `Plan "${plan.name}" is POSTPAID: it has no price at the payment provider.`;
      return { outcome: 'not-sold', message };
    }
    plans.push(plan);
  }
  const changed = new Set<string>();
  const rebuilt: Plan[] = [];
  for (const plan of plans) {
    const interval = plan.interval === 'YEAR' ? 'year' : 'month';
    const recurring = { interval, intervalCount: 1 } as const;
    const made = await rebuild(parts, { ...plan, kind: 'plan', metadata: { planId: plan.id }, recurring });
    if (made.outcome === 'failed') {
      return { outcome: 'provider-failed', message: `Plan "${plan.name}": ${made.message}` };
    }
    if (made.outcome === 'made') {
      await database.query(
        `update plans set provider_product_id = $2, provider_price_id = $3, updated_at = $4
         where id = $1 and provider_price_id is not distinct from $5`,
        [plan.id, made.productId, made.priceId, new Date(clock.now()), plan.providerPriceId],
      );
      changed.add(plan.id);
      log.info('a plan has a new price at the payment provider', {
        planId: plan.id,
        priceId: made.priceId,
        replaced: plan.providerPriceId,
      });
      await onPriced?.(made.priceId);
    }
    rebuilt.push((await findPlan(database, plan.id)) ?? plan);
  }
  return { outcome: 'rebuilt', plans: rebuilt, changed };
}

type RebuiltPack =
  | { readonly outcome: 'rebuilt'; readonly pack: CreditPack; readonly isChanged: boolean }
  | { readonly outcome: 'no-such-pack' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** Rebuilds one pack at a time (P-12). */
export async function rebuildPackPricing(parts: RebuildParts, packId: string): Promise<RebuiltPack> {
  const { database, clock, log } = parts;
  const pack = await findCreditPack(database, packId);
  if (pack === null || pack.status === 'DRAFT') return { outcome: 'no-such-pack' };
  const metadata = { creditPackId: pack.id };
  const made = await rebuild(parts, { ...pack, kind: 'pack', metadata, recurring: null });
  if (made.outcome === 'failed') return { outcome: 'provider-failed', message: made.message };
  if (made.outcome === 'known') return { outcome: 'rebuilt', pack, isChanged: false };
  await database.query(
    `update credit_packs set provider_product_id = $2, provider_price_id = $3, updated_at = $4
     where id = $1 and provider_price_id is not distinct from $5`,
    [pack.id, made.productId, made.priceId, new Date(clock.now()), pack.providerPriceId],
  );
  log.info('a pack has a new price at the payment provider', {
    creditPackId: pack.id,
    priceId: made.priceId,
    replaced: pack.providerPriceId,
  });
  const after = (await findCreditPack(database, packId)) ?? pack;
  return { outcome: 'rebuilt', pack: after, isChanged: true };
}

interface Offer extends Pick<PriceParams, 'currency' | 'recurring' | 'metadata'> {
  readonly kind: 'plan' | 'pack';
  readonly id: string;
  readonly name: string;
  readonly priceMinor: bigint;
  readonly providerProductId: string | null;
  readonly providerPriceId: string | null;
}

type Rebuilt =
  | { readonly outcome: 'known' }
  | { readonly outcome: 'made'; readonly productId: string; readonly priceId: string }
  | { readonly outcome: 'failed'; readonly message: string };

async function rebuild({ provider }: RebuildParts, offer: Offer): Promise<Rebuilt> {
  const { kind, id, name, priceMinor, currency, recurring, metadata } = offer;
  const price = await lookUp(offer.providerPriceId, provider.retrievePrice);
  if (price.outcome === 'failed') return price;
  if (price.outcome === 'known') return { outcome: 'known' };
  const product = await lookUp(offer.providerProductId, provider.retrieveProduct);
  if (product.outcome === 'failed') return product;
  let productId = offer.providerProductId;
  if (product.outcome === 'missing' || productId === null) {
    const made = await provider.createProduct(
      { name, metadata },
      `${kind}:${id}:product${replacing(offer.providerProductId)}`,
    );
    if (made.outcome === 'failed') return { outcome: 'failed', message: made.failure.message };
    productId = made.value.id;
  }
  const made = await provider.createPrice(
    { productId, amountMinor: priceMinor, currency, recurring, metadata },
    `${kind}:${id}:price${replacing(offer.providerPriceId)}`,
  );
  if (made.outcome === 'failed') return { outcome: 'failed', message: made.failure.message };
  return { outcome: 'made', productId, priceId: made.value.id };
}

function replacing(staleId: string | null): string {
  return staleId === null ? '' : `:replacing:${staleId}`;
}

type LookedUp =
  | { readonly outcome: 'known' | 'missing' }
  | { readonly outcome: 'failed'; readonly message: string };

async function lookUp(
  id: string | null,
  retrieve: (id: string) => Promise<ProviderAnswer<WireObject>>,
): Promise<LookedUp> {
  if (id === null) return { outcome: 'missing' };
  const answer = await retrieve(id);
  if (answer.outcome === 'done') return { outcome: answer.value.deleted === true ? 'missing' : 'known' };
  if (answer.failure.reason === 'not-found') return { outcome: 'missing' };
  return { outcome: 'failed', message: answer.failure.message };
}
