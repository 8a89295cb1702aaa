import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import {
  type CheckedOffer,
  checkOffer,
  expiryProblem,
  MOST_CREDITS_MICRO,
  type OfferField,
  type OfferParams,
  sortOrderProblem,
} from './offer.ts';

type PlanBillingMode = 'PREPAID' | 'POSTPAID';
export type BillingInterval = 'MONTH' | 'YEAR';

/** An offer that a company pays for per period. A POSTPAID plan has no price at the provider: usage is invoiced instead. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly billingMode: PlanBillingMode;
  readonly priceMinor: bigint;
  /** Three letters, lower case. */
  readonly currency: string;
  /** The credits that each paid period grants. */
  readonly creditsMicro: bigint;
  readonly interval: BillingInterval;
  /** The length of the free trial for a new subscriber; null is no trial. */
  readonly trialDays: number | null;
  /** The credits that a trial grants, once per company. */
  readonly trialCreditsMicro: bigint;
  /** Days from the grant until the credits of a paid period expire; null is never. */
  readonly creditsExpireAfterDays: number | null;
  readonly sortOrder: number;
  readonly providerProductId: string | null;
  readonly providerPriceId: string | null;
  /** True if only the missing price at the provider keeps it from being sold. */
  readonly needsProviderPricing: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const NEEDS_PRICING = `(active and billing_mode <> 'POSTPAID' and provider_price_id is null)`;

/** A row of `plans` as a Plan. */
export const PLAN_COLUMNS = `id, name, active, billing_mode as "billingMode", price_minor as "priceMinor", currency,
  credits_micro as "creditsMicro", billing_interval as "interval", trial_days as "trialDays",
  trial_credits_micro as "trialCreditsMicro", credits_expire_after_days as "creditsExpireAfterDays",
  sort_order as "sortOrder", provider_product_id as "providerProductId",
  provider_price_id as "providerPriceId", ${NEEDS_PRICING} as "needsProviderPricing",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** The catalogue is read as a whole, so its size is limited. */
const MOST_PLANS = 500;

/** Ordered by `sortOrder`, then by currency and price. Plans that are no longer sold come last. */
export async function listPlans(
  statements: Statements,
  { activeOnly }: { readonly activeOnly: boolean },
): Promise<readonly Plan[]> {
  return await statements.query<Plan>(
    `select ${PLAN_COLUMNS} from plans where active or not $1
     order by active desc, sort_order, currency, price_minor, created_at, id limit ${MOST_PLANS}`,
    [activeOnly],
  );
}

export async function findPlan(statements: Statements, id: string): Promise<Plan | null> {
  const rows = await statements.query<Plan>(`select ${PLAN_COLUMNS} from plans where id = $1`, [id]);
  return rows[0] ?? null;
}

/** The plan that is or was sold at this price of the provider. */
export async function findPlanByPrice(statements: Statements, providerPriceId: string): Promise<Plan | null> {
  const rows = await statements.query<Plan>(
    `select ${PLAN_COLUMNS} from plans
     where id = (select plan_id from plan_rates where provider_price_id = $1 order by created_at limit 1)`,
    [providerPriceId],
  );
  return rows[0] ?? null;
}

/** For data loaders. In no order; unknown ids are left out. */
export async function findPlans(statements: Statements, ids: readonly string[]): Promise<readonly Plan[]> {
  return await statements.query<Plan>(`select ${PLAN_COLUMNS} from plans where id = any($1::uuid[])`, [ids]);
}

export interface PlanParams extends OfferParams {
  readonly billingMode: PlanBillingMode;
  readonly active: boolean;
  readonly interval: BillingInterval;
  /** 1 to 730; null is no trial. */
  readonly trialDays?: number | null;
  readonly trialCreditsMicro?: bigint;
  /** 1 to 3650; null is never. */
  readonly creditsExpireAfterDays?: number | null;
  readonly sortOrder?: number;
}

const MOST_TRIAL_DAYS = 730;

type CreatedPlan =
  | { readonly outcome: 'created'; readonly plan: Plan }
  | { readonly outcome: 'invalid'; readonly field: OfferField; readonly message: string };

/**
 * Adds a plan without calling the provider: a PREPAID plan needs pricing until the next sync. A POSTPAID plan may have
 * no credits, because its usage is invoiced. A plan with price 0 grants its credits once per company and period.
 */
export async function createPlan(
  {
    statements,
    secrets,
    clock,
  }: {
    readonly statements: Statements;
    readonly secrets: Pick<Secrets, 'newId'>;
    readonly clock: Clock;
  },
  params: PlanParams,
): Promise<CreatedPlan> {
  const checked = checkPlan(params);
  if (checked.outcome === 'invalid') return checked;
  const [plan] = await statements.query<Plan>(
    `insert into plans (id, name, active, billing_mode, price_minor, currency, credits_micro, billing_interval,
       trial_days, trial_credits_micro, credits_expire_after_days, sort_order, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning ${PLAN_COLUMNS}`,
    [
      secrets.newId(),
      checked.name,
      params.active,
      params.billingMode,
      checked.priceMinor,
      checked.currency,
      params.creditsMicro,
      params.interval,
      params.trialDays ?? null,
      params.trialCreditsMicro ?? 0n,
      params.creditsExpireAfterDays ?? null,
      params.sortOrder ?? 0,
      new Date(clock.now()),
    ],
  );
  if (plan === undefined) throw new Error('a plan was not written');
  return { outcome: 'created', plan };
}

/** Returns what is wrong with a plan, and in which field; otherwise its name, price and currency as they are stored. */
export function checkPlan(params: PlanParams): CheckedOffer {
  const isPostpaid = params.billingMode === 'POSTPAID';
  const checked = checkOffer(params, { freeOfCharge: true, withoutCredits: isPostpaid });
  if (checked.outcome === 'invalid') return checked;
  const problem =
    sortOrderProblem(params.sortOrder ?? 0) ?? trialProblem(params) ?? planExpiryProblem(params);
  return problem === null ? checked : { outcome: 'invalid', ...problem };
}

type Problem = { readonly field: OfferField; readonly message: string };

function planExpiryProblem({ creditsExpireAfterDays = null, billingMode }: PlanParams): Problem | null {
  if (creditsExpireAfterDays === null || billingMode !== 'POSTPAID') {
    return expiryProblem(creditsExpireAfterDays);
  }
  const message = 'A POSTPAID plan grants no credits that could expire: leave it out.';
  return { field: 'creditsExpireAfterDays', message };
}

function trialProblem(params: PlanParams): Problem | null {
  const { trialDays = null, trialCreditsMicro = 0n, billingMode } = params;
  if (trialDays !== null && (trialDays < 1 || trialDays > MOST_TRIAL_DAYS || billingMode === 'POSTPAID')) {
    const message = `A trial lasts 1 to ${MOST_TRIAL_DAYS} days, and POSTPAID plans have none.`;
    return { field: 'trialDays', message };
  }
  if (trialCreditsMicro < 0n || trialCreditsMicro > MOST_CREDITS_MICRO) {
    return { field: 'trialCredits', message: 'A trial brings zero to a billion credits.' };
  }
  if (trialCreditsMicro > 0n && trialDays === null) {
    return { field: 'trialCredits', message: 'Trial credits need a trial: set trialDays, too.' };
  }
  return null;
}

interface PlanPricingParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createProduct' | 'createPrice'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new price: events may be waiting for a plan with that price. */
  readonly onPriced?: (providerPriceId: string) => Promise<void>;
}

type SyncedPlans =
  /** All active plans that are sold through the provider, including those that already had a price. */
  | { readonly outcome: 'synced'; readonly plans: readonly Plan[] }
  /** Some plans may have got their price; running it again continues. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** Longer than two requests with all their retries. */
const CLAIMED_FOR = `interval '90 seconds'`;
const WAIT_MS = 100;
const SOLD = `active and billing_mode <> 'POSTPAID'`;

/**
 * Creates a product and a price at the provider for every active PREPAID plan without one. It may be repeated and run
 * concurrently: a plan is claimed before the provider is called, and the idempotency keys contain the plan's id, so
 * that even an expired claim creates no second price. No transaction is open while the provider is called.
 */
export async function syncAllPlansProviderPricing(parts: PlanPricingParts): Promise<SyncedPlans> {
  const { database, clock } = parts;
  const mine = new Set<string>();
  for (;;) {
    const claimed = await claim(parts);
    if (claimed !== null) {
      // A plan with a price cannot be claimed again, so each turn claims another plan.
      if (mine.has(claimed.id)) throw new Error(`plan ${claimed.id} was priced and has no price`);
      mine.add(claimed.id);
      const problem = await price(parts, claimed);
      if (problem !== null)
        return { outcome: 'provider-failed', message: `Plan "${claimed.name}": ${problem}` };
      continue;
    }
    const plans = await database.query<Plan>(
      `select ${PLAN_COLUMNS} from plans where ${SOLD} order by sort_order, currency, price_minor, created_at, id`,
    );
    // Other processes are pricing the rest, and this caller waits for their results.
    if (plans.every((plan) => plan.providerPriceId !== null)) return { outcome: 'synced', plans };
    await clock.sleep(WAIT_MS);
  }
}

/** By the database's clock, which all processes share. */
async function claim({ database }: PlanPricingParts): Promise<Plan | null> {
  const rows = await database.query<Plan>(
    `update plans set pricing_claimed_until = now() + ${CLAIMED_FOR}
     where id = (select id from plans where ${SOLD} and provider_price_id is null
         and (pricing_claimed_until is null or pricing_claimed_until <= now())
       order by id limit 1 for update skip locked)
     returning ${PLAN_COLUMNS}`,
  );
  return rows[0] ?? null;
}

/** Other terms require another price at the provider. They include the credits, because the rate is frozen with the price. */
export function planTerms({ priceMinor, currency, creditsMicro, interval }: Plan): string {
  return `${priceMinor}:${currency}:${creditsMicro}:${interval}`;
}

/** Returns null on success, otherwise the provider's message. Releases the claim in both cases. */
async function price(parts: PlanPricingParts, plan: Plan): Promise<string | null> {
  const { database, provider, clock, log, onPriced } = parts;
  const metadata = { planId: plan.id };
  try {
    let productId = plan.providerProductId;
    if (productId === null) {
      const product = await provider.createProduct({ name: plan.name, metadata }, `plan:${plan.id}:product`);
      if (product.outcome === 'failed') return product.failure.message;
      productId = product.value.id;
      // Stored at once, because the provider forgets its idempotency keys after a day.
      await database.query('update plans set provider_product_id = $2 where id = $1', [plan.id, productId]);
    }
    const params = {
      productId,
      amountMinor: plan.priceMinor,
      currency: plan.currency,
      recurring: { interval: plan.interval === 'YEAR' ? 'year' : 'month', intervalCount: 1 },
      metadata,
    } as const;
    const made = await provider.createPrice(params, `plan:${plan.id}:price:${planTerms(plan)}`);
    if (made.outcome === 'failed') return made.failure.message;
    await database.query(
      `update plans set provider_price_id = $2, updated_at = $3 where id = $1 and provider_price_id is null`,
      [plan.id, made.value.id, new Date(clock.now())],
    );
    log.info('a plan has its price at the payment provider', { planId: plan.id, priceId: made.value.id });
    await onPriced?.(made.value.id);
    return null;
  } finally {
    await database.query('update plans set pricing_claimed_until = null where id = $1', [plan.id]);
  }
}
