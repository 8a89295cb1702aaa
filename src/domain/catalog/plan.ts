import type { Statements } from '../../ports/database.ts';

export type PlanBillingMode = 'PREPAID' | 'POSTPAID';
export type BillingInterval = 'MONTH' | 'YEAR';

/** What a company pays for by the period. A POSTPAID one has no price at the provider: usage is invoiced instead. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly billingMode: PlanBillingMode;
  readonly priceMinor: bigint;
  /** Three letters, lower case. */
  readonly currency: string;
  /** What each paid period brings. */
  readonly creditsMicro: bigint;
  readonly interval: BillingInterval;
  readonly providerProductId: string | null;
  readonly providerPriceId: string | null;
  /** It could be sold, were it not for the price that the provider does not have yet. */
  readonly needsProviderPricing: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const NEEDS_PRICING = `(active and billing_mode <> 'POSTPAID' and provider_price_id is null)`;

/** A row of `plans` as a Plan. */
export const PLAN_COLUMNS = `id, name, active, billing_mode as "billingMode", price_minor as "priceMinor", currency,
  credits_micro as "creditsMicro", billing_interval as "interval", provider_product_id as "providerProductId",
  provider_price_id as "providerPriceId", ${NEEDS_PRICING} as "needsProviderPricing",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** A catalog is read as a whole: nobody offers more. */
export const MOST_PLANS = 500;

/** The cheapest first, so that people can compare; those no longer sold come last. */
export async function listPlans(
  statements: Statements,
  { activeOnly }: { readonly activeOnly: boolean },
): Promise<readonly Plan[]> {
  return await statements.query<Plan>(
    `select ${PLAN_COLUMNS} from plans where active or not $1
     order by active desc, currency, price_minor, created_at, id limit ${MOST_PLANS}`,
    [activeOnly],
  );
}

export async function findPlan(statements: Statements, id: string): Promise<Plan | null> {
  const rows = await statements.query<Plan>(`select ${PLAN_COLUMNS} from plans where id = $1`, [id]);
  return rows[0] ?? null;
}

/** For data loaders: in no order, without those that there are not. */
export async function findPlans(statements: Statements, ids: readonly string[]): Promise<readonly Plan[]> {
  return await statements.query<Plan>(`select ${PLAN_COLUMNS} from plans where id = any($1::uuid[])`, [ids]);
}

export async function findPlanByPrice(statements: Statements, providerPriceId: string): Promise<Plan | null> {
  const rows = await statements.query<Plan>(
    `select ${PLAN_COLUMNS} from plans where provider_price_id = $1`,
    [providerPriceId],
  );
  return rows[0] ?? null;
}
