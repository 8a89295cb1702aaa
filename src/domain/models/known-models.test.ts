import { expect, test } from 'bun:test';
import { isStale, knownModel, knownModels, listPrice, presetOf, STALE_AFTER_DAYS } from './known-models.ts';

const DAY_MS = 86_400_000;

test('the catalogue of well-known models is valid, and each figure has its date and its source', () => {
  const models = knownModels();
  expect(models.length).toBeGreaterThan(40);
  const names = models.map(({ vendor, model }) => `${vendor} ${model}`);
  expect(new Set(names).size).toBe(names.length);
  for (const { model, kind, prompt, cached, cacheWrite, completion, maxOutputTokens, asOf } of models) {
    // Prices of a single token, or of a thousand, would be far outside of this.
    expect([model, prompt >= 0.01 && prompt <= 100]).toEqual([model, true]);
    expect([model, cached === null || cached <= prompt]).toEqual([model, true]);
    expect([model, cacheWrite === null || cacheWrite >= prompt]).toEqual([model, true]);
    expect([model, kind === 'embed' ? completion : maxOutputTokens]).not.toEqual([model, null]);
    expect([model, kind === 'embed']).toEqual([model, maxOutputTokens === null]);
    expect([model, Date.parse(asOf) <= Date.now() + DAY_MS]).toEqual([model, true]);
  }
  for (const vendor of ['openai', 'anthropic', 'gemini', 'mistral', 'groq', 'deepseek', 'cohere']) {
    expect(names.some((name) => name.startsWith(`${vendor} `))).toBe(true);
  }
});

test('a model is found by its provider and name, and for a server of any models by name alone', () => {
  expect(knownModel('openai', 'gpt-4o')).toMatchObject({ vendor: 'openai', contextLength: 128_000 });
  expect(knownModel('openrouter', 'gpt-4o')?.vendor).toBe('openai');
  expect(knownModel('anthropic', 'gpt-4o')).toBeNull();
  expect(knownModel('compatible', 'deepseek-chat')?.vendor).toBe('deepseek');
  expect(knownModel('openai', 'gpt-nothing')).toBeNull();
  const presets = [knownModel('openai', 'gpt-4o'), knownModel('compatible', 'deepseek-chat')];
  expect(presets.map((model) => model && presetOf(model))).toEqual(['openai', 'compatible']);
  expect(
    knownModels()
      .filter(({ model }) => model === 'gpt-4o')
      .map(listPrice),
  ).toEqual(['2.5 USD prompt, 1.25 cached, 10 completion for a million tokens']);
});

test('figures are stale after 180 days', () => {
  const asOf = '2026-08-08';
  const end = Date.parse(asOf) + STALE_AFTER_DAYS * DAY_MS;
  expect([isStale({ asOf }, end), isStale({ asOf }, end + 1)]).toEqual([false, true]);
});
