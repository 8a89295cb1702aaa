import { beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { Database } from '../../ports/database.ts';
import { readAliases } from './alias-catalogue.ts';
import { aliasOf, nameOfAlias, problemWithName, storedNameOf } from './aliases.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { type AliasParams, createAlias, retireAlias, updateAlias } from './change-alias.ts';
import { createCipher } from './cipher.ts';
import { createModelDirectory } from './model-directory.ts';
import { readPrices, setPrice } from './prices.ts';
import { setAliasTargets } from './targets.ts';

const secrets = createSystemSecrets();
const clock = createManualClock();
const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
const PRICE = { prompt: 2, cached: 1, completion: 8 };
const TARGET = { baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-one', weight: 1 };

describe('the name of an alias', () => {
  test.each(['gpt-4o', 'llama3.2:70b', 'a/b/c', 'svc/mine', 'A'.repeat(100)])(
    '%p is valid, and stored unchanged',
    (name) => {
      expect(problemWithName('svc', name)).toBeNull();
      expect([nameOfAlias('svc', name), storedNameOf(name), aliasOf('svc', name)]).toEqual([
        name,
        name,
        name,
      ]);
    },
  );

  test.each(['', 'a b', 'a,b', 'ä', 'a\n', '/a', 'a/', 'a//b', 'a/../b', '-a', 'A'.repeat(101)])(
    '%p is refused',
    (name) => {
      expect(problemWithName('svc', name)).toContain('cannot be the name of an alias: use 1 to 100 letters');
      expect(nameOfAlias('svc', name)).toBeNull();
    },
  );

  test('names that end like a documented alias are reserved, so that another prefix never collides with an own alias', () => {
    for (const name of ['chat-default', 'acme/chat-default', 'a/svc/embed-default']) {
      expect(problemWithName('svc', name)).toContain('belong to svc/');
    }
    expect(nameOfAlias('svc', 'svc/chat-default')).toBe('chat-default');
    expect(storedNameOf('any/prefix/chat-default')).toBe('chat-default');
    expect(aliasOf('acme', 'chat-default')).toBe('acme/chat-default');
  });
});

function aliasesContract(database: Database): void {
  const parts = { database, sharedState: createInProcessState({ clock }), secrets, cipher, prefix: 'svc' };
  let number = 0;
  let own = '';
  beforeEach(() => {
    number += 1;
    own = `team-${number}/fast`;
  });

  const create = (more: Partial<AliasParams> = {}) =>
    createAlias(parts, { alias: own, kind: 'chat', price: PRICE, targets: [TARGET], ...more });
  const open = async () => {
    const log = createSilentLog();
    const directory = await createModelDirectory({ ...parts, clock, log, embeddedAllowed: false });
    await directory.close();
    return directory;
  };
  const problem = async (change: Promise<{ outcome: string }>) => {
    const outcome = (await change) as { outcome: string; problem?: string };
    return outcome.problem ?? outcome.outcome;
  };

  test('a new alias is in the directory with its kind, targets, price, bounds and routing', async () => {
    const cost = { prompt: 1, cached: 0.5, completion: 4, cacheWrite: 1.25 };
    const routing = { strategy: 'latency', retries: 2, retryStatuses: [429, 404, 429], hedgeMs: 300 };
    const bounds = { contextLength: 128_000, maxOutputTokens: 4_096, enforceMaxOutput: true };
    const target = { ...TARGET, timeoutMs: 5_000, maxInFlight: 20, cost };
    const made = await create({ ...routing, ...bounds, fallback: 'svc/chat-default', targets: [target] });
    expect(made).toEqual({ outcome: 'changed' });
    const directory = await open();
    expect(directory.find(own)).toMatchObject({
      ...{ alias: own, kind: 'chat', ...bounds },
      prices: [{ promptMicro: 2_000_000n, cachedMicro: 1_000_000n, completionMicro: 8_000_000n }],
      routing: {
        ...{ strategy: 'latency', retries: 2, hedgeMs: 300 },
        ...{ retryStatuses: [404, 429], fallback: 'svc/chat-default' },
      },
      targets: [
        {
          ...{ ...TARGET, timeoutMs: 5_000, maxInFlight: 20 },
          cost: {
            promptMicro: 1_000_000n,
            cachedMicro: 500_000n,
            completionMicro: 4_000_000n,
            cacheWriteMicro: 1_250_000n,
          },
        },
      ],
    });
    expect(directory.find('svc/chat-default')?.routing).toBeNull();
    expect(directory.all().map(({ alias }) => alias)[5]).toBe('svc/embed-default');
  });

  test('members left out of a change stay, and null sets the default', async () => {
    await create({
      contextLength: 64_000,
      retries: 1,
      strategy: 'order',
      targets: [{ ...TARGET, timeoutMs: 9 }],
    });
    expect(await updateAlias(parts, { alias: own, maxOutputTokens: 500 })).toEqual({ outcome: 'changed' });
    expect(await updateAlias(parts, { alias: own, maxOutputTokens: 500 })).toEqual({ outcome: 'unchanged' });
    const [before] = (await open()).find(own)?.targets ?? [];
    await updateAlias(parts, {
      alias: own,
      retries: null,
      targets: [{ ...TARGET, apiKey: null, id: before?.id, weight: 5 }],
    });
    const alias = (await open()).find(own);
    expect(alias).toMatchObject({
      contextLength: 64_000,
      maxOutputTokens: 500,
      routing: { strategy: 'order', retries: 0 },
    });
    expect(alias?.targets).toMatchObject([{ id: before?.id, apiKey: 'sk-one', weight: 5, timeoutMs: 9 }]);
    const keyless = { ...TARGET, apiKey: null, removesKey: true, id: before?.id, timeoutMs: null };
    await updateAlias(parts, { alias: own, strategy: null, contextLength: null, targets: [keyless] });
    const after = (await open()).find(own);
    expect(after).toMatchObject({ contextLength: 200_000, routing: null });
    expect(after?.targets[0]?.apiKey).toBeNull();
    expect(after?.targets[0]).not.toHaveProperty('timeoutMs');
  });

  test('a new alias needs a kind and a price, and names are unique', async () => {
    expect(await problem(create({ kind: null }))).toContain('give its kind (chat, extract, embed)');
    expect(await problem(create({ kind: 'image' }))).toBe('kind is chat, extract, embed');
    expect(await problem(create({ price: null }))).toContain('needs a price');
    expect(await problem(create({ alias: 'a b' }))).toContain('cannot be the name');
    expect(await problem(updateAlias(parts, { alias: own }))).toContain(`there is no alias "${own}"`);
    expect((await open()).find(own)).toBeNull();
    await create();
    expect(await problem(create())).toContain('already');
    expect(await problem(updateAlias(parts, { alias: own, kind: 'embed' }))).toContain('cannot be changed');
    expect(await problem(create({ alias: 'svc/chat-default' }))).toContain('already');
  });

  test.each<[string, Partial<AliasParams>]>([
    ['strategy', { strategy: 'random' }],
    ['retries', { retries: 11 }],
    ['retry_statuses', { retryStatuses: Array.from({ length: 21 }, () => 500) }],
    ['hedge_ms', { hedgeMs: 0 }],
    ['fallback_price', { fallbackPrice: 'dearest' }],
    ['context_length', { contextLength: 0 }],
    ['timeout_ms', { targets: [{ ...TARGET, timeoutMs: 0 }] }],
    [
      'timeout_ms must be a whole number from 1 to 3600000: a time-out is at most an hour',
      { targets: [{ ...TARGET, timeoutMs: 3_600_001 }] },
    ],
    [
      'idle_timeout_ms must be a whole number from 1 to 3600000: a time-out is at most an hour',
      { targets: [{ ...TARGET, idleTimeoutMs: 3_600_001 }] },
    ],
    ['max_in_flight', { targets: [{ ...TARGET, maxInFlight: 1.5 }] }],
    ['cost', { targets: [{ ...TARGET, cost: { ...PRICE, prompt: -1 } }] }],
    ['prompt price', { price: { ...PRICE, prompt: 1e-7 } }],
  ])('a wrong %s is refused, and nothing is written: %#', async (word, change) => {
    expect(await problem(create(change))).toContain(word);
    expect((await open()).find(own)).toBeNull();
  });

  test('a fallback exists, is of the same kind, and has no cycle', async () => {
    const [a, b, c] = [`${own}-a`, `${own}-b`, `${own}-c`];
    expect(await problem(create({ fallback: 'gpt-nowhere' }))).toContain('there is no such alias');
    expect(await problem(create({ fallback: 'svc/embed-default' }))).toContain('of the kind embed, not chat');
    expect(await problem(create({ fallback: own }))).toContain(`${own} → ${own}`);
    for (const [alias, fallback] of [
      [c, null],
      [b, c],
      [a, b],
    ] as const)
      await create({ alias, fallback });
    expect(await problem(updateAlias(parts, { alias: c, fallback: a }))).toContain('must not form a circle');
    expect(await problem(retireAlias(parts, c))).toBe(`${c} is the fallback of ${b}: change that first`);
    await updateAlias(parts, { alias: b, fallback: null });
    expect(await retireAlias(parts, c)).toEqual({ outcome: 'changed' });
    expect(await problem(updateAlias(parts, { alias: b, fallback: c }))).toContain('or it is retired');
  });

  test('a retired alias is removed with its keys, keeps its prices, and can return only with the same kind', async () => {
    await create({ contextLength: 5, retries: 3 });
    expect(await retireAlias(parts, own)).toEqual({ outcome: 'changed' });
    expect((await open()).find(own)).toBeNull();
    expect(await database.query('select 1 from model_targets where alias = $1', [own])).toHaveLength(0);
    expect((await readPrices(database)).filter(({ alias }) => alias === own)).toHaveLength(1);
    expect((await readAliases(database)).find(({ name }) => name === own)?.retiredAt).toBeInstanceOf(Date);
    for (const change of [
      () => updateAlias(parts, { alias: own }),
      () => setAliasTargets(parts, own, [TARGET]),
      () => setPrice(parts, { alias: own, price: PRICE, from: null }),
      () => retireAlias(parts, own),
    ]) {
      expect(await problem(change())).toContain('is retired');
    }
    expect(await problem(create({ kind: 'extract' }))).toContain('cannot be changed');
    expect(await create({ price: null })).toEqual({ outcome: 'changed' });
    expect((await open()).find(own)).toMatchObject({
      contextLength: 200_000,
      routing: null,
      targets: [TARGET],
    });
    expect(await problem(retireAlias(parts, 'svc/chat-default'))).toContain('cannot be retired');
  });

  test('MODEL_CONFIG adds aliases that fall back to each other, once, and does not change retired ones', async () => {
    const [a, b] = [`${own}-a`, `${own}-b`];
    const target = {
      base_url: TARGET.baseUrl,
      model: 'm',
      weight: 1,
      timeout_ms: 100,
      idle_timeout_ms: 200,
      cost: { ...PRICE, cache_write: 3 },
    };
    const file = {
      [a]: {
        kind: 'chat',
        price: PRICE,
        fallback: b,
        fallback_price: 'served',
        hedge_ms: 50,
        targets: [target],
      },
      [b]: { kind: 'chat', price: PRICE, retry_statuses: [409] },
    };
    const wrong = { ...file, 'svc/chat-cheap': { kind: 'embed' } };
    expect(await problem(applyModelConfig(parts, wrong))).toContain('svc/chat-cheap is of the kind chat');
    expect((await open()).find(a)).toBeNull();
    expect(await applyModelConfig(parts, file)).toEqual({ outcome: 'changed', aliases: [a, b] });
    expect(await applyModelConfig(parts, file)).toEqual({ outcome: 'unchanged' });
    expect((await open()).find(a)).toMatchObject({
      routing: { fallback: b, fallbackPrice: 'served', hedgeMs: 50 },
      targets: [{ timeoutMs: 100, idleTimeoutMs: 200, cost: { cacheWriteMicro: 3_000_000n } }],
    });
    const other = { ...file, [a]: { ...file[a], targets: [{ ...target, cost: PRICE }] } };
    expect(await applyModelConfig(parts, other)).toEqual({ outcome: 'changed', aliases: [a] });
    await retireAlias(parts, a);
    expect(await applyModelConfig(parts, other)).toEqual({ outcome: 'unchanged', retired: [a] });
    expect((await open()).find(a)).toBeNull();
    expect(await problem(applyModelConfig(parts, { [own]: { price: PRICE } }))).toContain('give its kind');
  });
}

describe('operators’ own aliases', () => aliasesContract(useDatabase()));
describePostgres('aliases of operators’ own on PostgreSQL', () => aliasesContract(usePostgres()));
