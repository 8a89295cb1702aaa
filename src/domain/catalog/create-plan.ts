import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { type BillingInterval, PLAN_COLUMNS, type Plan, type PlanBillingMode } from './plan.ts';
import { checkOffer, type OfferField, type WantedOffer } from './wanted-offer.ts';

export interface WantedPlan extends WantedOffer {
  readonly billingMode: PlanBillingMode;
  readonly active: boolean;
  readonly interval: BillingInterval;
}

export type CreatedPlan =
  | { readonly outcome: 'created'; readonly plan: Plan }
  | { readonly outcome: 'invalid'; readonly field: OfferField; readonly message: string };

/**
 * Adds a plan, without asking the provider: a PREPAID one needs pricing until the next sync. A POSTPAID one may be
 * free of a base price and bring no credits: what it costs is usage.
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
  wanted: WantedPlan,
): Promise<CreatedPlan> {
  const isPostpaid = wanted.billingMode === 'POSTPAID';
  const checked = checkOffer(wanted, { freeOfCharge: isPostpaid, withoutCredits: isPostpaid });
  if (checked.outcome === 'invalid') return checked;
  const [plan] = await statements.query<Plan>(
    `insert into plans (id, name, active, billing_mode, price_minor, currency, credits_micro, billing_interval,
       created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning ${PLAN_COLUMNS}`,
    [
      secrets.newId(),
      checked.name,
      wanted.active,
      wanted.billingMode,
      checked.priceMinor,
      checked.currency,
      wanted.creditsMicro,
      wanted.interval,
      new Date(clock.now()),
    ],
  );
  if (plan === undefined) throw new Error('a plan was not written');
  return { outcome: 'created', plan };
}
