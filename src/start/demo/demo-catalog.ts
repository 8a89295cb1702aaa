import { createCreditPack, listCreditPacks } from '../../domain/catalog/credit-pack.ts';
import {
  createPlan,
  listPlans,
  type PlanParams,
  syncAllPlansProviderPricing,
} from '../../domain/catalog/plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';

interface DemoCatalogParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createProduct' | 'createPrice'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Packs and plans for the demo world. Creates what is missing, by name, so that the next start continues an interrupted
 * one. Runs once the sandbox listens, because it calls the payment provider; if that fails, the demo has no packs yet
 * and the reason is logged.
 */
export async function ensureDemoCatalog(parts: DemoCatalogParts): Promise<'filled' | 'found' | 'failed'> {
  const { database, secrets, clock, log } = parts;
  const plans = namesOf(await listPlans(database, { activeOnly: false }));
  const packs = namesOf(await listCreditPacks(database, { activeOnly: false }));
  let outcome: 'filled' | 'found' | 'failed' = 'found';
  for (const plan of PLANS) {
    if (plans.has(plan.name)) continue;
    await createPlan({ statements: database, secrets, clock }, plan);
    outcome = 'filled';
  }
  for (const pack of PACKS) {
    if (packs.has(pack.name)) continue;
    const created = await createCreditPack(parts, pack);
    if (created.outcome === 'created') {
      outcome = 'filled';
      continue;
    }
    log.error('the demo catalog has a pack less', { pack: pack.name, reason: created.message });
    return 'failed';
  }
  const synced = await syncAllPlansProviderPricing(parts);
  if (synced.outcome === 'synced') return outcome;
  log.error('the plans of the demo catalog have no price yet', { reason: synced.message });
  return 'failed';
}

const CREDIT = 1_000_000n;

const PACKS = [
  { name: 'Starter', creditsMicro: 1_000n * CREDIT, price: '10', currency: 'usd', sortOrder: 1 },
  { name: 'Team', creditsMicro: 5_500n * CREDIT, price: '50', currency: 'usd', sortOrder: 2 },
  { name: 'Scale', creditsMicro: 24_000n * CREDIT, price: '200', currency: 'usd', sortOrder: 3 },
] as const;

const plan = (name: string, price: string, credits: bigint, changes: Partial<PlanParams> = {}) =>
  ({
    name,
    price,
    creditsMicro: credits * CREDIT,
    currency: 'usd',
    billingMode: 'PREPAID',
    active: true,
    interval: 'MONTH',
    ...changes,
  }) satisfies PlanParams;

const PLANS: readonly PlanParams[] = [
  plan('Basic', '29', 3_200n),
  plan('Pro', '99', 12_000n),
  plan('Enterprise', '0', 0n, { billingMode: 'POSTPAID' }),
];

function namesOf(offers: readonly { readonly name: string }[]): ReadonlySet<string> {
  return new Set(offers.map(({ name }) => name));
}
