import { expect, test } from 'bun:test';
import { belowCostText, pricesBelowCost } from './prices-below-cost.ts';

const NOW = Date.UTC(2031, 0, 1);
const price = { promptMicro: 2n, cachedMicro: 1n, completionMicro: 8n, inForceFromMs: 0 };
const target = (cost: object | null, host = 'one.example') => ({
  baseUrl: `https://${host}/v1`,
  cost: cost as never,
});

test('each part of a price that is below the cost of a target is found, current and future', () => {
  const targets = [
    target({ promptMicro: 2n, cachedMicro: 1n, completionMicro: 8n }),
    target({ promptMicro: 3n, cachedMicro: 0n, completionMicro: 9n }, 'two.example'),
    target(null, 'three.example'),
  ];
  const later = { ...price, promptMicro: 3n, completionMicro: 4n, inForceFromMs: NOW + 1 };
  const found = pricesBelowCost([{ alias: 'a', prices: [price, later], targets }], NOW);
  expect(found.map(({ host, part, fromMs }) => [host, part, fromMs])).toEqual([
    ['two.example', 'prompt', null],
    ['two.example', 'completion', null],
    ['one.example', 'completion', NOW + 1],
    ['two.example', 'completion', NOW + 1],
  ]);
  const [first] = found;
  expect(first && belowCostText(first, String)).toBe(
    'a is below cost: its prompt price is 2 credits a million tokens, and two.example costs 3. Raise the price, or take the target out.',
  );
});

test('cache writes are compared where one of the two has a price for them', () => {
  const targets = [target({ promptMicro: 2n, cachedMicro: 1n, completionMicro: 8n, cacheWriteMicro: 3n })];
  expect(pricesBelowCost([{ alias: 'a', prices: [price], targets }], NOW)).toMatchObject([
    { part: 'cache write', priceMicro: 2n, costMicro: 3n },
  ]);
});
