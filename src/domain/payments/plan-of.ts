import type { Transaction } from '../../ports/database.ts';
import type { WireObject } from '../../ports/payment-provider.ts';
import { fieldsIn, idIn, listIn, ourIdIn } from './wire-fields.ts';

/** The price of a subscription's first item: we sell one plan at a time. */
export function priceOf(subscription: WireObject): string | null {
  const [item] = listIn(subscription.items);
  const price = item?.price ?? item?.plan ?? subscription.plan;
  return idIn(price);
}

/**
 * The plan that an object of the provider's is about: by its price, which is ours or nobody's; only where that is
 * not told, by the id that we wrote on it.
 */
export async function planOf(transaction: Transaction, object: WireObject): Promise<string | null> {
  return await planWithPrice(transaction, priceOf(object), ourIdIn(object, 'planId'));
}

export async function planWithPrice(
  transaction: Transaction,
  priceId: string | null,
  planId: string | null,
): Promise<string | null> {
  const [row] = await transaction.query<{ id: string }>(
    `select id from plans where case when $1::text is null then id = $2::uuid else provider_price_id = $1 end`,
    [priceId, planId],
  );
  return row?.id ?? null;
}

/** What a line of an invoice is for. */
export function priceOfLine(line: Readonly<Record<string, unknown>>): string | null {
  return idIn(line.price) ?? idIn(fieldsIn(line.plan).id);
}
