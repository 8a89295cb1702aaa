import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import {
  type CheckedOffer,
  checkOffer,
  expiryProblem,
  type OfferField,
  type OfferParams,
  sortOrderProblem,
} from './offer.ts';

type CreditPackStatus = 'DRAFT' | 'ACTIVE' | 'RETIRED';

/** Credits for a one-time payment. Only an ACTIVE pack is sold; a DRAFT has no price at the provider yet. */
export interface CreditPack {
  readonly id: string;
  readonly name: string;
  readonly creditsMicro: bigint;
  /** Days from the grant until the remaining credits expire; null is never. */
  readonly creditsExpireAfterDays: number | null;
  readonly priceMinor: bigint;
  /** Three letters, lower case. */
  readonly currency: string;
  readonly sortOrder: number;
  readonly status: CreditPackStatus;
  readonly providerProductId: string | null;
  readonly providerPriceId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A row of `credit_packs` as a CreditPack. */
export const CREDIT_PACK_COLUMNS = `id, name, credits_micro as "creditsMicro",
  credits_expire_after_days as "creditsExpireAfterDays", price_minor as "priceMinor", currency,
  sort_order as "sortOrder", status, provider_product_id as "providerProductId",
  provider_price_id as "providerPriceId", created_at as "createdAt", updated_at as "updatedAt"`;

const MOST_PACKS = 500;

/** Ordered by `sortOrder`; by default only packs that are sold now. */
export async function listCreditPacks(
  statements: Statements,
  { activeOnly = true }: { readonly activeOnly?: boolean } = {},
): Promise<readonly CreditPack[]> {
  return await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where status = 'ACTIVE' or not $1
     order by sort_order, id limit ${MOST_PACKS}`,
    [activeOnly],
  );
}

export async function findCreditPack(statements: Statements, id: string): Promise<CreditPack | null> {
  const rows = await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** For data loaders, including retired packs. In no order; unknown ids are left out. */
export async function findCreditPacks(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly CreditPack[]> {
  return await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where id = any($1::uuid[])`,
    [ids],
  );
}

interface CreditPackParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createProduct' | 'createPrice'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
}

export interface CreditPackParams extends OfferParams {
  readonly sortOrder: number;
  /** 1 to 3650; null is never. */
  readonly creditsExpireAfterDays?: number | null;
}

/** Returns what is wrong with a pack, and in which field; otherwise its name, price and currency as they are stored. */
export function checkPack(params: CreditPackParams): CheckedOffer {
  const checked = checkOffer(params, { freeOfCharge: false, withoutCredits: false });
  if (checked.outcome === 'invalid') return checked;
  const problem = sortOrderProblem(params.sortOrder) ?? expiryProblem(params.creditsExpireAfterDays ?? null);
  return problem === null ? checked : { outcome: 'invalid', ...problem };
}

type CreatedCreditPack =
  | { readonly outcome: 'created'; readonly pack: CreditPack }
  | { readonly outcome: 'invalid'; readonly field: OfferField; readonly message: string }
  /** The pack was not added. The message may be shown to users. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

/**
 * Adds a pack with its product and its one-time price at the provider. It is a DRAFT until both exist, so that a
 * failure in between never offers a pack that cannot be paid for.
 */
export async function createCreditPack(
  parts: CreditPackParts,
  params: CreditPackParams,
): Promise<CreatedCreditPack> {
  const { database, secrets, clock } = parts;
  const { sortOrder, creditsMicro, creditsExpireAfterDays = null } = params;
  const checked = checkPack(params);
  if (checked.outcome === 'invalid') return checked;
  const id = secrets.newId();
  const { name, priceMinor, currency } = checked;
  await database.query(
    `insert into credit_packs (id, name, credits_micro, price_minor, currency, sort_order, status, created_at, updated_at,
       credits_expire_after_days)
     values ($1, $2, $3, $4, $5, $6, 'DRAFT', $7, $7, $8)`,
    [id, name, creditsMicro, priceMinor, currency, sortOrder, new Date(clock.now()), creditsExpireAfterDays],
  );
  const made = await makePrice(parts, { id, name, priceMinor, currency }).catch(async (error: unknown) => {
    await removeDraft(database, id);
    throw error;
  });
  if (made.outcome === 'failed') {
    await removeDraft(database, id);
    const message = `The payment provider did not take the pack, so it was not added: ${made.message}`;
    return { outcome: 'provider-failed', message };
  }
  const [pack] = await database.query<CreditPack>(
    `update credit_packs set status = 'ACTIVE', provider_product_id = $2, provider_price_id = $3, updated_at = $4
     where id = $1 returning ${CREDIT_PACK_COLUMNS}`,
    [id, made.productId, made.priceId, new Date(clock.now())],
  );
  if (pack === undefined) throw new Error(`credit pack ${id} has disappeared`);
  return { outcome: 'created', pack };
}

type MadePrice =
  | { readonly outcome: 'made'; readonly productId: string; readonly priceId: string }
  | { readonly outcome: 'failed'; readonly message: string };

async function makePrice(
  { provider }: CreditPackParts,
  pack: Pick<CreditPack, 'id' | 'name' | 'priceMinor' | 'currency'>,
): Promise<MadePrice> {
  const metadata = { creditPackId: pack.id };
  const product = await provider.createProduct({ name: pack.name, metadata }, `pack:${pack.id}:product`);
  if (product.outcome === 'failed') return { outcome: 'failed', message: product.failure.message };
  const productId = product.value.id;
  const params = {
    productId,
    amountMinor: pack.priceMinor,
    currency: pack.currency,
    recurring: null,
    metadata,
  };
  const price = await provider.createPrice(params, `pack:${pack.id}:price`);
  if (price.outcome === 'failed') return { outcome: 'failed', message: price.failure.message };
  return { outcome: 'made', productId, priceId: price.value.id };
}

/** The provider may keep a product that nothing refers to. */
async function removeDraft(database: Database, id: string): Promise<void> {
  await database.query(`delete from credit_packs where id = $1 and status = 'DRAFT'`, [id]);
}
