import { expect, test } from 'bun:test';
import { hourWriteFactor } from './hour-writes.ts';
import { checkPriceFactors, factorsByField, shownFactors } from './price-factors.ts';
import { mostFactor, type PriceFactors, splitsLongPrompts, tierUse, unpricedTiers } from './tiers.ts';

const priceFactors: PriceFactors = {
  service_tier: { priority: 2_000_000, flex: 500_000 },
  speed: { fast: 6_000_000 },
  inference_geo: { us: 1_100_000 },
};
const alias = { priceFactors };
const ownKeyAlias = { priceFactors, ownKey: {} };

test('tiers that may cost more need a factor; plain ones, and calls with own keys, do not', () => {
  for (const plain of ['auto', 'default', 'standard', 'standard_only', 'on_demand', 'flex', 'batch']) {
    expect(unpricedTiers({}, { service_tier: plain })).toEqual([]);
  }
  expect(unpricedTiers({}, { speed: 'standard', inference_geo: 'global' })).toEqual([]);
  // What is unknown may cost anything, and names of every object are no factors.
  for (const dear of ['priority', 'scale', 'performance', 'Priority', 'constructor', '__proto__', '']) {
    expect(unpricedTiers({}, { service_tier: dear })).toEqual(['service_tier']);
  }
  expect(unpricedTiers({}, { speed: 'fast' })).toEqual(['speed']);
  expect(unpricedTiers({}, { inference_geo: 'us' })).toEqual(['inference_geo']);
  expect(unpricedTiers(alias, { service_tier: 'priority', speed: 'fast', inference_geo: 'us' })).toEqual([]);
  expect(unpricedTiers(alias, { inference_geo: 'eu' })).toEqual(['inference_geo']);
  expect(unpricedTiers({ ownKey: {} }, { speed: 'fast' })).toEqual([]);
});

test('the reported tier is charged, and never more than the requested one', () => {
  const factor = (asked: object, reported?: object) => tierUse(alias, asked, reported)?.priceFactorMillionths;
  expect(tierUse(alias, { service_tier: 'priority' }, { service_tier: 'priority' })).toEqual({
    priceFactorMillionths: 2_000_000,
    tier: 'priority',
  });
  // Served at another tier, or nothing said of it.
  expect(factor({ service_tier: 'priority' }, { service_tier: 'default' })).toBeUndefined();
  expect(factor({ service_tier: 'priority' })).toBe(2_000_000);
  expect(factor({ service_tier: 'priority' }, { service_tier: 'a tier of tomorrow' })).toBe(2_000_000);
  expect(factor({ service_tier: 'default' }, { service_tier: 'priority' })).toBeUndefined();
  expect(tierUse(alias, { service_tier: 'flex' }, { service_tier: 'default' })?.tier).toBe('flex');
  // The account's own setting decides.
  for (const open of [{}, { service_tier: 'auto' }]) {
    expect(factor(open, { service_tier: 'priority' })).toBe(2_000_000);
    expect(factor(open, { service_tier: 'default' })).toBeUndefined();
    expect(factor(open, { service_tier: 'scale' })).toBeUndefined();
    expect(factor(open, { speed: 'fast' })).toBeUndefined();
    expect(factor(open)).toBeUndefined();
    expect(mostFactor(alias, open)).toBe(2_200_000);
  }
  expect(tierUse(alias, { speed: 'fast', inference_geo: 'us' }, { speed: 'fast' })).toEqual({
    priceFactorMillionths: 6_600_000,
    tier: 'fast us',
  });
  expect(mostFactor(alias, { service_tier: 'default', speed: 'fast', inference_geo: 'global' })).toBe(
    6_000_000,
  );
  expect(mostFactor(alias, { service_tier: 'flex', inference_geo: 'global' })).toBe(500_000);
  expect([mostFactor(alias, null), mostFactor({}, {}), mostFactor(ownKeyAlias, {})]).toEqual([
    1_000_000, 1_000_000, 1_000_000,
  ]);
  expect(tierUse(ownKeyAlias, { speed: 'fast' }, { speed: 'fast' })).toBeUndefined();
});

test('long prompts have the factor of the highest number of tokens that they exceed, together with the tier', () => {
  const long = { prompt_tokens: { '200000': 2_000_000, '500000': 3_000_000 } };
  const factor = (tokens: number, asked: object | null = null) =>
    tierUse({ priceFactors: { ...priceFactors, ...long } }, asked, {}, tokens);
  expect(factor(200_000)).toBeUndefined();
  expect(factor(200_001)).toEqual({ priceFactorMillionths: 2_000_000, tier: 'prompt_tokens>200000' });
  expect(factor(600_000)).toEqual({ priceFactorMillionths: 3_000_000, tier: 'prompt_tokens>500000' });
  expect(factor(200_001, { speed: 'fast' })).toEqual({
    priceFactorMillionths: 12_000_000,
    tier: 'fast prompt_tokens>200000',
  });
  expect(tierUse({ priceFactors: long, ownKey: {} }, null, {}, 600_000)).toBeUndefined();
  // What a prompt may have is held; a higher number may cost less.
  const falling = { priceFactors: { prompt_tokens: { '10': 2_000_000, '20': 500_000 } } };
  expect([10, 11, 21].map((tokens) => mostFactor(falling, null, tokens))).toEqual([
    1_000_000, 2_000_000, 2_000_000,
  ]);
  expect(tierUse(falling, null, {}, 21)?.priceFactorMillionths).toBe(500_000);
});

test('completions of long prompts have a factor of their own where the operator gives one', () => {
  const long = { '200000': 2_000_000, '500000': 3_000_000, '700000': 1_000_000 };
  const own = { '200000': 1_500_000, '700000': 4_000_000 };
  const split = { priceFactors: { ...priceFactors, prompt_tokens: long, long_prompt_completion: own } };
  const factor = (tokens: number, asked: object | null = null) => tierUse(split, asked, {}, tokens);
  expect(factor(200_000)).toBeUndefined();
  expect(factor(200_001, { speed: 'fast' })).toEqual({
    ...{ priceFactorMillionths: 12_000_000, completionFactorMillionths: 9_000_000 },
    tier: 'fast prompt_tokens>200000',
  });
  // Without one of its own, the factor is that of the prompt.
  expect(factor(500_001)).toEqual({ priceFactorMillionths: 3_000_000, tier: 'prompt_tokens>500000' });
  expect(factor(700_001)).toEqual({
    ...{ priceFactorMillionths: 1_000_000, completionFactorMillionths: 4_000_000 },
    tier: 'prompt_tokens>700000',
  });
  const held = (tokens: number, part: 'prompt' | 'completion') => mostFactor(split, null, tokens, part);
  const numbers = [200_000, 200_001, 500_001, 700_001];
  expect(numbers.map((tokens) => held(tokens, 'prompt'))).toEqual([
    1_000_000, 2_000_000, 3_000_000, 3_000_000,
  ]);
  expect(numbers.map((tokens) => held(tokens, 'completion'))).toEqual([
    1_000_000, 1_500_000, 3_000_000, 4_000_000,
  ]);
  expect([splitsLongPrompts(split), splitsLongPrompts(alias)]).toEqual([true, false]);
  expect(splitsLongPrompts({ ...split, ownKey: {} })).toBe(false);
});

test('writes for an hour cost eight fifths of other cache writes, or what the operator says, but never less', () => {
  expect(hourWriteFactor({})).toBe(1_600_000);
  expect(hourWriteFactor({ priceFactors: { cache_write: { '1h': 1_000_000 } } })).toBe(1_000_000);
  expect(hourWriteFactor({ priceFactors: { cache_write: { '1h': 0 } } })).toBe(1_000_000);
  expect(hourWriteFactor({ ownKey: {} })).toBeUndefined();
});

test('factors are numbers from 0 to 100 of the known fields', () => {
  expect(checkPriceFactors({ service_tier: { priority: 1.75 }, speed: {} })).toEqual({
    outcome: 'fine',
    factors: { service_tier: { priority: 1_750_000 } },
  });
  expect(checkPriceFactors({})).toEqual({ outcome: 'fine', factors: null });
  expect(checkPriceFactors(undefined)).toEqual({ outcome: 'fine', factors: undefined });
  const wrong = [{ tier: { a: 1 } }, { speed: { 'a b': 1 } }, { speed: { '': 1 } }];
  const notFor = [
    { prompt_tokens: { many: 2 } },
    { prompt_tokens: { '0': 2 } },
    { long_prompt_completion: { '200000': 1.5 } },
    { prompt_tokens: { '200000': 2 }, long_prompt_completion: { '300000': 1.5 } },
    { prompt_tokens: { '200000': 2 }, long_prompt_completion: { many: 1.5 } },
    { cache_write: { '5m': 1 } },
    { modalities: { text: 1 } },
    { cache_write: { '1h': 0.9 } },
  ];
  const numbers = [-1, 101, 0.000_000_1, Number.NaN].map((fast) => ({ speed: { fast } }));
  for (const given of [...wrong, ...notFor, ...numbers]) {
    expect(checkPriceFactors(given as Parameters<typeof checkPriceFactors>[0])).toMatchObject({
      outcome: 'wrong',
    });
  }
  const all = {
    ...priceFactors,
    prompt_tokens: { '200000': 2_000_000 },
    long_prompt_completion: { '200000': 1_500_000 },
    cache_write: { '1h': 1_600_000 },
    modalities: { audio: 16_000_000 },
  };
  const shown = shownFactors(all);
  expect(checkPriceFactors(factorsByField(shown))).toEqual({ outcome: 'fine', factors: all });
});
