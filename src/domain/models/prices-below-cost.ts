import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { PriceVersion, TokenPrice } from './aliases.ts';

/** An alias whose price is below the cost of one of its targets: every such token loses money. */
interface PriceBelowCost {
  readonly alias: string;
  readonly host: string;
  readonly part: 'prompt' | 'cached' | 'completion' | 'cache write';
  readonly priceMicro: bigint;
  readonly costMicro: bigint;
  /** Null for the price in force. */
  readonly fromMs: number | null;
}

interface PricedAlias {
  readonly alias: string;
  /** The price in force and future ones. */
  readonly prices: readonly (TokenPrice & Pick<PriceVersion, 'inForceFromMs'>)[];
  readonly targets: readonly { readonly baseUrl: string | null; readonly cost?: TokenPrice | null }[];
}

/** Sorted by alias, price, target and part. Each price is compared with every target that has a cost. */
export function pricesBelowCost(aliases: readonly PricedAlias[], nowMs: number): readonly PriceBelowCost[] {
  return aliases.flatMap(({ alias, prices, targets }) =>
    prices.flatMap((price) =>
      targets.flatMap(({ baseUrl, cost }) => {
        if (cost == null) return [];
        const host = baseUrl === null ? 'embedded' : new URL(baseUrl).host;
        const fromMs = price.inForceFromMs > nowMs ? price.inForceFromMs : null;
        return partsBelow(price, cost).map((below) => ({ alias, host, ...below, fromMs }));
      }),
    ),
  );
}

function partsBelow(
  price: TokenPrice,
  cost: TokenPrice,
): readonly Pick<PriceBelowCost, 'part' | 'priceMicro' | 'costMicro'>[] {
  const parts = [
    { part: 'prompt', priceMicro: price.promptMicro, costMicro: cost.promptMicro },
    { part: 'cached', priceMicro: price.cachedMicro, costMicro: cost.cachedMicro },
    { part: 'completion', priceMicro: price.completionMicro, costMicro: cost.completionMicro },
    {
      part: 'cache write',
      priceMicro: price.cacheWriteMicro ?? price.promptMicro,
      costMicro: cost.cacheWriteMicro ?? cost.promptMicro,
    },
  ] as const;
  const below = parts.filter(({ priceMicro, costMicro }) => priceMicro < costMicro);
  // If neither defines it, cache writes cost as much as the prompt, which is reported already.
  const isOwn = price.cacheWriteMicro != null || cost.cacheWriteMicro != null;
  return isOwn ? below : below.filter(({ part }) => part !== 'cache write');
}

/** Logs each price that is below a cost, once until that changes. */
export function createBelowCostReport({
  log,
  clock,
}: {
  readonly log: Pick<Log, 'warn'>;
  readonly clock: Pick<Clock, 'now'>;
}): (aliases: readonly PricedAlias[]) => void {
  let reported = new Set<string>();
  return (aliases) => {
    const all = new Set<string>();
    for (const below of pricesBelowCost(aliases, clock.now())) {
      const { alias, host, part, priceMicro, costMicro, fromMs } = below;
      const text = [alias, host, part, priceMicro, costMicro, fromMs].join(' ');
      all.add(text);
      if (reported.has(text)) continue;
      const figures = { priceMicro: Number(priceMicro), costMicro: Number(costMicro) };
      log.warn('a price is below what a target costs: calls of it lose money', {
        alias,
        host,
        part,
        ...figures,
      });
    }
    reported = all;
  };
}

/** One sentence for an operator. `credits` formats micro-credits. */
export function belowCostText(below: PriceBelowCost, credits: (micro: bigint) => string): string {
  const { alias, host, part, priceMicro, costMicro, fromMs } = below;
  const from = fromMs === null ? '' : ` from ${new Date(fromMs).toISOString()} on`;
  return `${alias} is below cost${from}: its ${part} price is ${credits(priceMicro)} credits a million tokens, and ${host} costs ${credits(costMicro)}. Raise the price, or take the target out.`;
}
