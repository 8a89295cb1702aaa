import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { boundsOf, readBounds } from './alias-bounds.ts';
import { DEFAULT_BOUNDS } from './aliases.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { createCipher } from './cipher.ts';
import type { TargetParams } from './target.ts';
import { openTargetSecrets } from './target-secrets.ts';
import {
  addAliasTarget,
  type CatalogueParts,
  MODELS_TOPIC,
  readCatalogue,
  readVersion,
  setAliasTargets,
} from './targets.ts';

const secrets = createSystemSecrets();
const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });

const ALIAS = 'svc/chat-default';
const TARGET = { baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-one', weight: 1 };
const PROVIDER = { baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-one', weight: 0.1 };

describe('targets', () => {
  const sharedState = createInProcessState({ clock: createManualClock() });
  const database = useDatabase();
  let published: string[] = [];

  beforeAll(async () => {
    await sharedState.subscribe(
      MODELS_TOPIC,
      (message) => void published.push(message),
      () => {},
    );
  });
  beforeEach(async () => {
    await database.query('delete from model_targets');
    published = [];
  });

  const parts = () => ({ database, sharedState, cipher, secrets, prefix: 'svc' });

  async function targetsNow() {
    const { targets } = await readCatalogue(database);
    return await Promise.all(
      targets.map(async ({ alias, baseUrl, model, sealedKey, weight }) => {
        const apiKey = sealedKey === null ? null : await cipher.decrypt(sealedKey, baseUrl);
        return { alias, baseUrl, model, apiKey, weight };
      }),
    );
  }

  describe('a target that names a stored one', () => {
    const ANTHROPIC = {
      baseUrl: 'https://a.example/v1',
      model: 'one',
      apiKey: 'sk-one',
      weight: 1,
      provider: 'anthropic',
      headers: { 'x-team': 'ours' },
    };
    async function storedId(): Promise<string> {
      expect(await setAliasTargets(parts(), ALIAS, [ANTHROPIC])).toEqual({ outcome: 'changed' });
      return (await readCatalogue(database)).targets[0]?.id ?? '';
    }
    async function secretsNow() {
      const [stored] = (await readCatalogue(database)).targets;
      if (stored === undefined) throw new Error('there is a target');
      return { id: stored.id, weight: stored.weight, ...(await openTargetSecrets(cipher, stored)) };
    }

    test('keeps them on another path of the same host, and takes new ones that are given', async () => {
      const id = await storedId();
      const { headers: _, ...rest } = ANTHROPIC;
      const moved = { ...rest, id, baseUrl: 'https://a.example/v2', apiKey: null };
      await setAliasTargets(parts(), ALIAS, [moved]);
      const now = await secretsNow();
      expect(now).toMatchObject({ apiKey: 'sk-one', headers: { 'x-team': 'ours' } });
      expect(now.id).not.toBe(id);
      await setAliasTargets(parts(), ALIAS, [{ ...moved, id: now.id, apiKey: 'sk-two', headers: {} }]);
      expect(await secretsNow()).toMatchObject({ id: now.id, apiKey: 'sk-two', headers: {} });
    });

    test('cannot take a key to another host, nor one of another alias, nor one twice', async () => {
      const id = await storedId();
      const elsewhere = { ...ANTHROPIC, id, baseUrl: 'https://b.example/v1', apiKey: null };
      expect(await setAliasTargets(parts(), ALIAS, [elsewhere])).toEqual({
        outcome: 'wrong-target',
        problem: 'target 1: its address has another host now: enter the key and the headers again',
      });
      const kept = { ...ANTHROPIC, id, apiKey: null };
      const unknown = {
        outcome: 'wrong-target' as const,
        problem: 'target 1: the alias has no such target any more: load its targets again',
      };
      expect(await setAliasTargets(parts(), 'svc/chat-cheap', [kept])).toEqual(unknown);
      expect((await setAliasTargets(parts(), ALIAS, [kept, kept])).outcome).toBe('wrong-target');
      expect(await secretsNow()).toMatchObject({ id, apiKey: 'sk-one' });
    });
  });

  describe('changing targets', () => {
    test('an alias gets exactly these targets, in their order, and one change is published', async () => {
      const before = await readVersion(database);
      const two = [
        TARGET,
        { ...TARGET, baseUrl: 'HTTP://Two.example:80/', model: 'two', apiKey: null, weight: 2.5 },
      ];
      expect(await setAliasTargets(parts(), ALIAS, two)).toEqual({ outcome: 'changed' });
      expect(await targetsNow()).toEqual([
        { ...TARGET, alias: 'chat-default' },
        { alias: 'chat-default', baseUrl: 'http://two.example', model: 'two', apiKey: null, weight: 2.5 },
      ]);
      await setAliasTargets(parts(), ALIAS, [{ ...TARGET, model: 'three' }]);
      expect((await targetsNow()).map(({ model }) => model)).toEqual(['three']);
      expect(published).toEqual(['changed', 'changed']);
      expect(await readVersion(database)).toBeGreaterThan(before ?? 0n);
    });

    test('one more target leaves the others and their keys as they are, up to 32', async () => {
      await setAliasTargets(parts(), ALIAS, [TARGET]);
      const { targets: before } = await readCatalogue(database);
      expect(await addAliasTarget(parts(), ALIAS, { ...TARGET, model: 'two' })).toEqual({
        outcome: 'changed',
      });
      const { targets: after } = await readCatalogue(database);
      expect(after.map(({ model }) => model)).toEqual(['one', 'two']);
      expect([after[0]?.id, after[0]?.sealedKey]).toEqual([before[0]?.id, before[0]?.sealedKey]);
      await setAliasTargets(
        parts(),
        ALIAS,
        Array.from({ length: 32 }, () => TARGET),
      );
      const refused = { outcome: 'wrong-target', problem: 'an alias has at most 32 targets' } as const;
      expect(await addAliasTarget(parts(), ALIAS, TARGET)).toEqual(refused);
      expect((await readCatalogue(database)).targets).toHaveLength(32);
    });

    test('the database holds no key that can be read', async () => {
      await setAliasTargets(parts(), ALIAS, [{ ...TARGET, apiKey: 'sk-very-secret' }]);
      const rows = await database.query('select model_targets::text as line, sealed_key from model_targets');
      const bytes = rows[0]?.sealed_key as Uint8Array;
      expect(String(rows[0]?.line)).not.toContain('secret');
      expect(new TextDecoder().decode(bytes)).not.toContain('secret');
      expect(bytes.length).toBeGreaterThan('sk-very-secret'.length);
    });

    test('no other alias can be set, and nothing is published', async () => {
      for (const alias of ['chat-default', 'acme/chat-default', 'svc/chat', '__proto__', '']) {
        const refused = await setAliasTargets(parts(), alias, [TARGET]);
        expect(refused).toMatchObject({ outcome: 'unknown-alias' });
        expect(refused.outcome !== 'changed' && refused.problem).toContain('svc/embed-default');
      }
      expect([await targetsNow(), published]).toEqual([[], []]);
    });

    test.each<[string, Partial<TargetParams>]>([
      ['address', { baseUrl: 'ftp://one.example' }],
      ['address', { baseUrl: 'https://me:secret@one.example' }],
      ['address', { baseUrl: 'https://one.example/v1?key=secret' }],
      ['address', { baseUrl: `https://one.example/${'v'.repeat(2_000)}` }],
      ['address', { baseUrl: 'https://one.example/v1, gpt-4o, 3' }],
      ['model', { model: ' ' }],
      ['model', { model: 'gpt-4o, 3' }],
      ['key', { apiKey: 'sk-secret\r\nhost: elsewhere' }],
      ['key', { apiKey: 'secret'.repeat(1_000) }],
      ['weight', { weight: 0 }],
      ['weight', { weight: Number.POSITIVE_INFINITY }],
    ])('a wrong %s is refused without repeating it: %#', async (word, change) => {
      const refused = await setAliasTargets(parts(), ALIAS, [TARGET, { ...TARGET, ...change }]);
      if (refused.outcome !== 'wrong-target') throw new Error(refused.outcome);
      expect(refused.problem).toStartWith(`target 2: its ${word} `);
      expect(refused.problem).not.toContain('secret');
      expect([await targetsNow(), published]).toEqual([[], []]);
    });
  });

  describe('MODEL_CONFIG at a start', () => {
    const listed = (model: string, more: object = {}) => {
      return { base_url: 'https://one.example/v1/', model, weight: 1, ...more };
    };

    test('aliases of the file get exactly its targets, others keep theirs', async () => {
      await setAliasTargets(parts(), 'svc/chat-cheap', [TARGET]);
      await setAliasTargets(parts(), 'svc/chat-premium', [TARGET]);
      await setAliasTargets(parts(), 'svc/extract-fast', [TARGET]);
      const applied = await applyModelConfig(parts(), {
        [ALIAS]: { targets: [listed('a', { api_key: 'sk-a' }), listed('b', { weight: 3 })] },
        'svc/chat-premium': { targets: [] },
        'svc/extract-fast': {},
      });
      expect(applied).toEqual({ outcome: 'changed', aliases: [ALIAS, 'svc/chat-premium'] });
      const base = { baseUrl: 'https://one.example/v1', apiKey: null, weight: 1 };
      expect(await targetsNow()).toEqual([
        { ...TARGET, alias: 'chat-cheap' },
        { ...base, alias: 'chat-default', model: 'a', apiKey: 'sk-a' },
        { ...base, alias: 'chat-default', model: 'b', weight: 3 },
        { ...TARGET, alias: 'extract-fast' },
      ]);
    });

    test.each<[string, object]>([
      ['a key', { api_key: 'sk-b' }],
      ['no key', { api_key: undefined }],
      ['a weight', { weight: 2 }],
      ['a model', { model: 'b' }],
    ])('%s that differs is written', async (_, change) => {
      await applyModelConfig(parts(), { [ALIAS]: { targets: [listed('a', { api_key: 'sk-a' })] } });
      const file = { [ALIAS]: { targets: [listed('a', { api_key: 'sk-a', ...change })] } };
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'changed', aliases: [ALIAS] });
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'unchanged' });
    });

    test('bounds and changes of bodies are set one by one, and only where they differ', async () => {
      const first = { context_length: 64_000, enforce_max_output: true, drop: ['seed', 'logit_bias'] };
      await applyModelConfig(parts(), { [ALIAS]: first });
      const file = { [ALIAS]: { max_output_tokens: 2_000, cache_breakpoints: false } };
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'changed', aliases: [ALIAS] });
      const alias = 'chat-default' as const;
      const bounds = {
        ...{ alias, contextLength: 64_000, maxOutputTokens: 2_000, enforceMaxOutput: true },
        ...{ cacheBreakpoints: false, drop: ['seed', 'logit_bias'] },
      };
      expect(await readBounds(database)).toEqual([bounds]);
      const version = await readVersion(database);
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'unchanged' });
      expect(await readVersion(database)).toBe(version);
      expect(boundsOf('chat', bounds)).toMatchObject({ contextLength: 64_000, maxOutputTokens: 2_000 });
      expect(boundsOf('embed', undefined)).toEqual(DEFAULT_BOUNDS.embed);
      expect(await applyModelConfig(parts(), { [ALIAS]: { context_length: 1.5 } })).toMatchObject({
        outcome: 'refused',
        problem: `${ALIAS}, context_length must be a whole number from 1 to 1000000000`,
      });
    });

    test.each([
      ['what a call needs', ['seed', 'stream_options'], 'drop cannot have stream_options'],
      ['what says whom it belongs to', ['user'], 'drop cannot have user'],
      ['more than 32 names', Array.from({ length: 33 }, (_, at) => `field_${at}`), 'at most 32 names'],
      ['a name that is none', ['a.b'], '"a.b" is not one'],
      ['a name of more than 64 characters', ['x'.repeat(65)], '1 to 64'],
    ])('drop is refused with %s', async (_, drop, problem) => {
      const refused = await applyModelConfig(parts(), { [ALIAS]: { drop } });
      expect(refused).toMatchObject({ outcome: 'refused', problem: expect.stringContaining(problem) });
    });

    test('keys of another master key are replaced by those of the file', async () => {
      const old = createCipher({ masterKeys: ['the master key that was lost, just as long'], secrets });
      const file = { [ALIAS]: { targets: [listed('a', { api_key: 'sk-a' })] } };
      await applyModelConfig({ ...parts(), cipher: old }, file);
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'changed', aliases: [ALIAS] });
      expect(await targetsNow()).toMatchObject([{ apiKey: 'sk-a' }]);
    });

    test('a name that is no alias, or a wrong target, refuses the whole file', async () => {
      const unknown = await applyModelConfig(parts(), {
        [ALIAS]: { targets: [listed('a')] },
        'svc/gpt-9': { targets: [] },
      });
      expect(unknown).toMatchObject({ outcome: 'refused' });
      expect(JSON.stringify(unknown)).toContain('there is no alias svc/gpt-9: to add it, give its kind');
      const wrong = await applyModelConfig(parts(), {
        [ALIAS]: { targets: [listed('a', { base_url: 'https://x:secret@y.example' })] },
      });
      expect(JSON.stringify(wrong)).toContain('svc/chat-default, target 1: its address must');
      expect(JSON.stringify(wrong)).not.toContain('secret');
      expect([await targetsNow(), published]).toEqual([[], []]);
    });
  });
});

/** What the engines read differently, and what depends on locks. */
describePostgres('models on PostgreSQL', () => {
  const secrets = createSystemSecrets();
  const clock = createManualClock();
  const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
  const database = usePostgres();
  let parts: CatalogueParts;
  beforeAll(async () => {
    parts = { database, sharedState: createInProcessState({ clock }), secrets, cipher, prefix: 'svc' };
  });

  test('of processes that start with the same file at once, one writes it', async () => {
    const targets = [{ base_url: PROVIDER.baseUrl, model: 'one', api_key: 'sk-one', weight: 0.1 }];
    const starts = Array.from({ length: 8 }, () => applyModelConfig(parts, { [ALIAS]: { targets } }));
    const outcomes: string[] = (await Promise.all(starts)).map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(['changed', ...Array.from({ length: 7 }, () => 'unchanged')]);
    expect((await readCatalogue(database)).targets).toHaveLength(1);
  });

  test('targets added at once are all there, in an order of their own', async () => {
    await setAliasTargets(parts, ALIAS, []);
    const models = Array.from({ length: 8 }, (_, n) => `model ${n}`);
    await Promise.all(models.map((model) => addAliasTarget(parts, ALIAS, { ...PROVIDER, model })));
    const { targets } = await readCatalogue(database);
    expect(targets.map(({ model }) => model).sort()).toEqual(models);
  });
});
