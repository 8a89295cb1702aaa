import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider, PriceParams } from '../../ports/payment-provider.ts';
import {
  CREDIT_PACK_COLUMNS,
  type CreditPack,
  type CreditPackParams,
  checkPack,
  findCreditPack,
} from './credit-pack.ts';
import type { OfferField } from './offer.ts';
import { checkPlan, findPlan, PLAN_COLUMNS, type Plan, type PlanParams, planTerms } from './plan.ts';

/**
 * Changes plans and packs after their creation. A price of the provider never changes: other terms require another
 * price, and the previous one is archived, so that it is no longer sold. Subscriptions with an archived price continue,
 * at the rate that was frozen with it, until they are moved to another price.
 *
 * The row is claimed while the provider is called, so that concurrent changes do not create two prices. It is written
 * before the old price is archived, together with a note that this must be done: if the provider fails then, a job
 * retries it.
 */
interface ChangeParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createPrice' | 'renameProduct' | 'setPriceActive'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new price: events may be waiting for a plan with that price. */
  readonly onPriced?: (providerPriceId: string) => Promise<void>;
}

type Refused =
  | { readonly outcome: 'invalid'; readonly field: OfferField; readonly message: string }
  /** Another change is in progress. */
  | { readonly outcome: 'busy'; readonly message: string }
  /** Nothing was changed here. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

type ChangedPlan =
  | { readonly outcome: 'changed'; readonly plan: Plan; readonly before: Plan }
  | { readonly outcome: 'no-such-plan' }
  | Refused;

/** Replaces all settings of a plan. What has been paid for stays as agreed. */
export async function updatePlan(parts: ChangeParts, id: string, params: PlanParams): Promise<ChangedPlan> {
  const checked = checkPlan(params);
  if (checked.outcome === 'invalid') return checked;
  return await changePlan(parts, id, async (plan) => {
    if (params.billingMode !== plan.billingMode) {
      const message = `Plan "${plan.name}" is ${plan.billingMode}, which cannot change: create another plan and retire this one.`;
      return { outcome: 'invalid', field: 'billingMode', message };
    }
    const { trialDays = null, trialCreditsMicro = 0n, creditsExpireAfterDays = null, sortOrder = 0 } = params;
    const { active, creditsMicro, interval } = params;
    const { name, priceMinor, currency } = checked;
    const after = { ...plan, active, name, priceMinor, currency, creditsMicro, interval };
    return {
      outcome: 'accepted',
      plan: { ...after, trialDays, trialCreditsMicro, creditsExpireAfterDays, sortOrder },
    };
  });
}

/** Stops selling a plan. Subscriptions to it continue. */
export async function retirePlan(parts: ChangeParts, id: string): Promise<ChangedPlan> {
  return await changePlan(parts, id, async (plan) => ({
    outcome: 'accepted',
    plan: { ...plan, active: false },
  }));
}

async function changePlan(
  parts: ChangeParts,
  id: string,
  decide: (plan: Plan) => Promise<{ readonly outcome: 'accepted'; readonly plan: Plan } | Refused>,
): Promise<ChangedPlan> {
  const { database } = parts;
  if ((await findPlan(database, id)) === null) return { outcome: 'no-such-plan' };
  if (!(await claim(parts, 'plan', id))) return busy('plan');
  try {
    const before = await findPlan(database, id);
    if (before === null) return { outcome: 'no-such-plan' };
    const decided = await decide(before);
    if (decided.outcome !== 'accepted') return decided;
    const moved = await movePrice(parts, planOffer(before), planOffer(decided.plan));
    if (moved.outcome === 'failed') return { outcome: 'provider-failed', message: moved.message };
    const plan = await database.transaction(async (transaction) => {
      await noteArchived(parts, transaction, moved);
      return await writePlan(parts, transaction, { ...decided.plan, providerPriceId: moved.priceId });
    });
    if (moved.isNew && moved.priceId !== null) await parts.onPriced?.(moved.priceId);
    if (moved.archived.length > 0) await archivePrices(parts);
    return { outcome: 'changed', plan, before };
  } finally {
    await release(parts, 'plan', id);
  }
}

type ChangedPack =
  | { readonly outcome: 'changed'; readonly pack: CreditPack; readonly before: CreditPack }
  | { readonly outcome: 'no-such-pack' }
  | { readonly outcome: 'retired'; readonly message: string }
  | Refused;

/** Replaces all settings of a pack. A purchase that has begun stays as agreed. */
export async function updateCreditPack(
  parts: ChangeParts,
  id: string,
  params: CreditPackParams,
): Promise<ChangedPack> {
  const checked = checkPack(params);
  if (checked.outcome === 'invalid') return checked;
  return await changePack(parts, id, (pack) => {
    const { name, priceMinor, currency } = checked;
    return {
      ...pack,
      name,
      priceMinor,
      currency,
      creditsMicro: params.creditsMicro,
      creditsExpireAfterDays: params.creditsExpireAfterDays ?? null,
      sortOrder: params.sortOrder,
    };
  });
}

/** Stops selling a pack. Its purchases are not affected. */
export async function retireCreditPack(parts: ChangeParts, id: string): Promise<ChangedPack> {
  return await changePack(parts, id, (pack) => ({ ...pack, status: 'RETIRED' }));
}

async function changePack(
  parts: ChangeParts,
  id: string,
  decide: (pack: CreditPack) => CreditPack,
): Promise<ChangedPack> {
  const { database } = parts;
  const found = await findCreditPack(database, id);
  if (found === null || found.status === 'DRAFT') return { outcome: 'no-such-pack' };
  if (!(await claim(parts, 'pack', id))) return busy('pack');
  try {
    const before = (await findCreditPack(database, id)) ?? found;
    const params = decide(before);
    if (before.status === 'RETIRED') {
      if (params.status === 'RETIRED' && isSamePack(params, before)) {
        return { outcome: 'changed', pack: before, before };
      }
      const message = `Pack "${before.name}" is retired and cannot be changed: create another one.`;
      return { outcome: 'retired', message };
    }
    const moved = await movePrice(parts, packOffer(before), packOffer(params));
    if (moved.outcome === 'failed') return { outcome: 'provider-failed', message: moved.message };
    const pack = await database.transaction(async (transaction) => {
      await noteArchived(parts, transaction, moved);
      return await writePack(parts, transaction, { ...params, providerPriceId: moved.priceId });
    });
    if (moved.archived.length > 0) await archivePrices(parts);
    return { outcome: 'changed', pack, before };
  } finally {
    await release(parts, 'pack', id);
  }
}

function isSamePack(one: CreditPack, other: CreditPack): boolean {
  return (
    one.name === other.name &&
    one.priceMinor === other.priceMinor &&
    one.currency === other.currency &&
    one.creditsMicro === other.creditsMicro &&
    one.creditsExpireAfterDays === other.creditsExpireAfterDays &&
    one.sortOrder === other.sortOrder
  );
}

/** A plan or pack as the provider has it, or should have it. */
interface ProviderOffer extends Pick<PriceParams, 'currency' | 'recurring' | 'metadata'> {
  readonly key: string;
  readonly name: string;
  readonly isSold: boolean;
  readonly priceMinor: bigint;
  /** Other terms require another price. */
  readonly terms: string;
  readonly productId: string | null;
  readonly priceId: string | null;
}

/** The rate of a plan is frozen with its price, so a change of its credits requires another price, too. */
function planOffer(plan: Plan): ProviderOffer {
  const { id, name, active, priceMinor, currency, interval } = plan;
  return {
    ...{ key: `plan:${id}`, name, isSold: active, priceMinor, currency, metadata: { planId: id } },
    terms: planTerms(plan),
    recurring: { interval: interval === 'YEAR' ? 'year' : 'month', intervalCount: 1 },
    productId: plan.providerProductId,
    priceId: plan.providerPriceId,
  };
}

/** A purchase stores its credits in its own row, so they are not part of the terms. */
function packOffer({ id, name, status, priceMinor, currency, ...pack }: CreditPack): ProviderOffer {
  return {
    ...{ key: `pack:${id}`, name, isSold: status === 'ACTIVE', priceMinor, currency },
    metadata: { creditPackId: id },
    terms: `${priceMinor}:${currency}`,
    recurring: null,
    productId: pack.providerProductId,
    priceId: pack.providerPriceId,
  };
}

type MovedPrice =
  | {
      readonly outcome: 'moved';
      readonly priceId: string | null;
      readonly isNew: boolean;
      /** Prices that are no longer sold. */
      readonly archived: readonly string[];
      readonly revived: string | null;
    }
  | { readonly outcome: 'failed'; readonly message: string };

/** Creates no price for an offer that has none yet; `syncAllPlansProviderPricing` does that for plans. */
async function movePrice(
  { provider }: ChangeParts,
  before: ProviderOffer,
  after: ProviderOffer,
): Promise<MovedPrice> {
  const { productId, priceId } = before;
  const unchanged = { outcome: 'moved', priceId, isNew: false, archived: [], revived: null } as const;
  if (productId !== null && before.name !== after.name) {
    const renamed = await provider.renameProduct(productId, after.name);
    if (renamed.outcome === 'failed') return { outcome: 'failed', message: renamed.failure.message };
  }
  if (productId === null || priceId === null) return unchanged;
  if (before.terms === after.terms) {
    if (!after.isSold) return { ...unchanged, archived: before.isSold ? [priceId] : [] };
    if (before.isSold) return unchanged;
    const revived = await provider.setPriceActive(priceId, true);
    if (revived.outcome === 'failed') return { outcome: 'failed', message: revived.failure.message };
    return { ...unchanged, revived: priceId };
  }
  const { priceMinor: amountMinor, currency, recurring, metadata, terms, key } = after;
  const made = await provider.createPrice(
    { productId, amountMinor, currency, recurring, metadata },
    `${key}:price:${terms}:replacing:${priceId}`,
  );
  if (made.outcome === 'failed') return { outcome: 'failed', message: made.failure.message };
  const archived = after.isSold ? [priceId] : [priceId, made.value.id];
  return { ...unchanged, priceId: made.value.id, isNew: true, archived };
}

async function noteArchived(
  { clock }: ChangeParts,
  transaction: Transaction,
  { archived, revived }: Extract<MovedPrice, { outcome: 'moved' }>,
): Promise<void> {
  if (revived !== null)
    await transaction.query('delete from prices_to_archive where provider_price_id = $1', [revived]);
  await transaction.query(
    `insert into prices_to_archive (provider_price_id, created_at) select price, $2 from unnest($1::text[]) as price
     on conflict do nothing`,
    [archived, new Date(clock.now())],
  );
}

const ARCHIVED_AT_ONCE = 100;

/**
 * Archives at the provider the prices that are no longer sold. The next run retries failures. Returns how many were
 * archived.
 */
export async function archivePrices({
  database,
  provider,
  log,
}: Pick<ChangeParts, 'database' | 'log'> & {
  readonly provider: Pick<PaymentProvider, 'setPriceActive'>;
}): Promise<number> {
  const due = await database.query<{ id: string }>(
    `select provider_price_id as id from prices_to_archive order by created_at, provider_price_id limit ${ARCHIVED_AT_ONCE}`,
  );
  let archived = 0;
  for (const { id } of due) {
    const answer = await provider.setPriceActive(id, false);
    if (answer.outcome === 'failed' && answer.failure.reason !== 'not-found') {
      log.warn('a price that is not sold any more could not be archived at the payment provider', {
        priceId: id,
        reason: answer.failure.message,
      });
      continue;
    }
    await database.query('delete from prices_to_archive where provider_price_id = $1', [id]);
    archived += 1;
  }
  return archived;
}

async function writePlan(parts: ChangeParts, transaction: Transaction, plan: Plan): Promise<Plan> {
  const [written] = await transaction.query<Plan>(
    `update plans set name = $2, active = $3, price_minor = $4, currency = $5, credits_micro = $6, billing_interval = $7,
       trial_days = $8, trial_credits_micro = $9, credits_expire_after_days = $10, sort_order = $11,
       provider_price_id = $12, updated_at = $13
     where id = $1 returning ${PLAN_COLUMNS}`,
    [
      ...[plan.id, plan.name, plan.active, plan.priceMinor, plan.currency, plan.creditsMicro, plan.interval],
      ...[plan.trialDays, plan.trialCreditsMicro, plan.creditsExpireAfterDays, plan.sortOrder],
      ...[plan.providerPriceId, new Date(parts.clock.now())],
    ],
  );
  if (written === undefined) throw new Error(`plan ${plan.id} has disappeared`);
  return written;
}

async function writePack(
  parts: ChangeParts,
  transaction: Transaction,
  pack: CreditPack,
): Promise<CreditPack> {
  const [written] = await transaction.query<CreditPack>(
    `update credit_packs set name = $2, credits_micro = $3, price_minor = $4, currency = $5, sort_order = $6, status = $7,
       provider_price_id = $8, updated_at = $9, credits_expire_after_days = $10
     where id = $1 returning ${CREDIT_PACK_COLUMNS}`,
    [
      ...[pack.id, pack.name, pack.creditsMicro, pack.priceMinor, pack.currency, pack.sortOrder, pack.status],
      ...[pack.providerPriceId, new Date(parts.clock.now()), pack.creditsExpireAfterDays],
    ],
  );
  if (written === undefined) throw new Error(`credit pack ${pack.id} has disappeared`);
  return written;
}

/** Longer than two requests with all their retries. */
const CLAIMED_FOR = `interval '90 seconds'`;

type Claimed = 'plan' | 'pack';

const CLAIM = {
  plan: `update plans set pricing_claimed_until = now() + ${CLAIMED_FOR}
    where id = $1 and (pricing_claimed_until is null or pricing_claimed_until <= now()) returning id`,
  pack: `update credit_packs set pricing_claimed_until = now() + ${CLAIMED_FOR}
    where id = $1 and (pricing_claimed_until is null or pricing_claimed_until <= now()) returning id`,
} as const;
const RELEASE = {
  plan: 'update plans set pricing_claimed_until = null where id = $1',
  pack: 'update credit_packs set pricing_claimed_until = null where id = $1',
} as const;

/** By the database's clock, which all processes share. */
async function claim({ database }: ChangeParts, what: Claimed, id: string): Promise<boolean> {
  return (await database.query(CLAIM[what], [id])).length > 0;
}

async function release({ database }: ChangeParts, what: Claimed, id: string): Promise<void> {
  await database.query(RELEASE[what], [id]);
}

function busy(what: Claimed): Refused {
  return { outcome: 'busy', message: `Another change of this ${what} is under way. Try again in a moment.` };
}
