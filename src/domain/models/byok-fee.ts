import type { Transaction } from '../../ports/database.ts';
import type { StoredAlias } from './alias-catalogue.ts';

/**
 * The price of calls with a company's own provider key, in millionths of the alias's price. Aliases without a fee do
 * not allow own keys; a fee of 0 allows them free of charge.
 */
type CheckedFee =
  | { readonly outcome: 'fine'; readonly millionths: number | null | undefined }
  | { readonly outcome: 'wrong'; readonly problem: string };

const MILLIONTHS_PER_PERCENT = 10_000;

/** Null forbids own keys; undefined changes nothing. A value with more than four decimals is refused, not rounded. */
export function checkByokFee(percent: number | null | undefined): CheckedFee {
  if (percent == null) return { outcome: 'fine', millionths: percent };
  const millionths = Math.round(percent * MILLIONTHS_PER_PERCENT);
  const isExact = Math.abs(percent * MILLIONTHS_PER_PERCENT - millionths) < 1e-6;
  if (percent >= 0 && percent <= 100 && isExact) return { outcome: 'fine', millionths };
  const problem = 'the fee for own keys must be from 0 to 100 percent of the price, with at most 4 decimals';
  return { outcome: 'wrong', problem };
}

export function percentOfFee(millionths: number): number {
  return millionths / MILLIONTHS_PER_PERCENT;
}

/** Writes nothing if nothing differs. Only under the catalogue's lock. */
export async function ensureByokFee(
  transaction: Transaction,
  { name, kind, byokFeeMillionths }: Pick<StoredAlias, 'name' | 'kind' | 'byokFeeMillionths'>,
  millionths: number | null | undefined,
): Promise<boolean> {
  if (millionths === undefined || millionths === byokFeeMillionths) return false;
  await transaction.query(
    `insert into model_aliases (alias, kind, byok_fee_millionths) values ($1, $2, $3)
     on conflict (alias) do update set byok_fee_millionths = excluded.byok_fee_millionths`,
    [name, kind, millionths],
  );
  return true;
}
