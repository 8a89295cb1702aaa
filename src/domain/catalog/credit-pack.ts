import type { Statements } from '../../ports/database.ts';

export type CreditPackStatus = 'DRAFT' | 'ACTIVE' | 'RETIRED';

/** Credits that are bought once. Only an ACTIVE pack is sold; a DRAFT has no price at the provider yet. */
export interface CreditPack {
  readonly id: string;
  readonly name: string;
  readonly creditsMicro: bigint;
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
export const CREDIT_PACK_COLUMNS = `id, name, credits_micro as "creditsMicro", price_minor as "priceMinor", currency,
  sort_order as "sortOrder", status, provider_product_id as "providerProductId",
  provider_price_id as "providerPriceId", created_at as "createdAt", updated_at as "updatedAt"`;

const MOST_PACKS = 500;

/** What is sold now, by sortOrder. */
export async function listCreditPacks(statements: Statements): Promise<readonly CreditPack[]> {
  return await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where status = 'ACTIVE' order by sort_order, id limit ${MOST_PACKS}`,
  );
}

export async function findCreditPack(statements: Statements, id: string): Promise<CreditPack | null> {
  const rows = await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** For data loaders, retired ones too: in no order, without those that there are not. */
export async function findCreditPacks(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly CreditPack[]> {
  return await statements.query<CreditPack>(
    `select ${CREDIT_PACK_COLUMNS} from credit_packs where id = any($1::uuid[])`,
    [ids],
  );
}
