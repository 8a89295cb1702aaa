import type { Statements } from '../../ports/database.ts';
import { fromMinorUnits, toMinorUnits } from './currency.ts';

/**
 * The money and credits of one provider price in one currency. The database writes a rate when it writes a plan's price
 * (`freeze_plan_rate`) and never changes it: repricing a plan creates another price.
 */
export interface PlanRate {
  readonly planId: string;
  readonly currency: string;
  readonly priceMinor: bigint;
  readonly creditsMicro: bigint;
}

/** The rates of a price, one per currency; empty if the price belongs to no plan. */
export async function listPlanRates(
  statements: Statements,
  providerPriceId: string,
): Promise<readonly PlanRate[]> {
  return await statements.query<PlanRate>(
    `select plan_id as "planId", currency, price_minor as "priceMinor", credits_micro as "creditsMicro"
     from plan_rates where provider_price_id = $1 order by created_at, currency`,
    [providerPriceId],
  );
}

interface ShownRate {
  readonly providerPriceId: string;
  readonly currency: string;
  /** In major units. */
  readonly price: string;
  readonly creditsMicro: bigint;
  readonly planName: string;
}

const MOST_SHOWN = 2_000;

/** For operators, newest first. */
export async function listAllPlanRates(statements: Statements): Promise<readonly ShownRate[]> {
  const rows = await statements.query<Omit<ShownRate, 'price'> & { readonly priceMinor: bigint }>(
    `select rate.provider_price_id as "providerPriceId", rate.currency, rate.price_minor as "priceMinor",
       rate.credits_micro as "creditsMicro", plan.name as "planName"
     from plan_rates as rate join plans as plan on plan.id = rate.plan_id
     order by rate.created_at desc, rate.provider_price_id, rate.currency limit ${MOST_SHOWN}`,
  );
  return rows.map(({ priceMinor, ...rate }) => {
    return { ...rate, price: fromMinorUnits(priceMinor, rate.currency) };
  });
}

type AddedRate =
  | { readonly outcome: 'added' | 'no-such-price' | 'frozen' }
  | { readonly outcome: 'invalid'; readonly message: string };

/** Adds a rate for a price that the provider also charges in another currency: the same credits for another amount. */
export async function addPlanRate(
  statements: Statements,
  params: { readonly providerPriceId: string; readonly currency: string; readonly price: string },
): Promise<AddedRate> {
  const minor = toMinorUnits(params.price, params.currency);
  if (minor.outcome === 'refused') return { outcome: 'invalid', message: minor.message };
  if (minor.amountMinor === 0n) return { outcome: 'invalid', message: 'A price must be above zero.' };
  const [known] = await listPlanRates(statements, params.providerPriceId);
  if (known === undefined) return { outcome: 'no-such-price' };
  const written = await statements.query(
    `insert into plan_rates (provider_price_id, currency, plan_id, price_minor, credits_micro)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning plan_id`,
    [params.providerPriceId, minor.currency, known.planId, minor.amountMinor, known.creditsMicro],
  );
  return { outcome: written.length > 0 ? 'added' : 'frozen' };
}
