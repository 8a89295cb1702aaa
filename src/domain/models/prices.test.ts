import { beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { priceAt } from './aliases.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { createCipher } from './cipher.ts';
import { createModelDirectory } from './model-directory.ts';
import { type PriceToSet, readPrices, setPrice, withdrawPrice } from './prices.ts';

const secrets = createSystemSecrets();
const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
const clock = createManualClock();
const sharedState = createInProcessState({ clock });
const ALIAS = 'svc/chat-default';
const PRICE = { prompt: '2', cached: '0.5', completion: '8.000001' };
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * 86_400_000);

describe('prices', () => {
  const database = useDatabase();

  beforeEach(async () => {
    await database.script(`alter table model_prices disable trigger model_prices_deleted;
    delete from model_prices where in_force_from > '1970-01-01T00:00:00Z';
    alter table model_prices enable trigger model_prices_deleted`);
  });

  const parts = () => ({ database, sharedState, secrets, cipher, prefix: 'svc' });
  const set = (changes: Partial<PriceToSet> = {}) =>
    setPrice(parts(), { alias: ALIAS, price: PRICE, from: null, ...changes });
  const pricesOf = async (alias: string) =>
    (await readPrices(database)).filter((price) => price.alias === alias);

  describe('prices', () => {
    test('G-28 a new price applies from now on, exact to the micro-credit, and the old one stays', async () => {
      expect(await set()).toMatchObject({
        outcome: 'changed',
        version: {
          alias: 'chat-default',
          promptMicro: 2_000_000n,
          cachedMicro: 500_000n,
          completionMicro: 8_000_001n,
        },
      });
      expect(await pricesOf('chat-default')).toMatchObject([{ promptMicro: 2_000_000n }]);
      const all = await database.query("select 1 from model_prices where alias = 'chat-default'");
      expect(all).toHaveLength(2);
    });

    test('G-28 a future price is stored next to the current one', async () => {
      const from = inDays(30);
      await set({ from });
      const [now, later] = await pricesOf('chat-default');
      expect([now?.promptMicro, later?.promptMicro]).toEqual([1_000_000n, 2_000_000n]);
      expect(later?.inForceFromMs).toBe(from.getTime());
      const prices = { prices: await pricesOf('chat-default') };
      expect(priceAt(prices, from.getTime() - 1)?.promptMicro).toBe(1_000_000n);
      expect(priceAt(prices, from.getTime())?.promptMicro).toBe(2_000_000n);
      expect(priceAt(prices, -1)?.promptMicro).toBe(1_000_000n);
      expect(priceAt({ prices: [] }, 0)).toBeNull();
    });

    test('G-28 a price for a time that has passed needs a reason, and is in force', async () => {
      const from = inDays(-1);
      expect(await set({ from })).toMatchObject({ outcome: 'no-reason' });
      expect(await set({ from, reason: 'a typing error' })).toMatchObject({ outcome: 'changed' });
      expect(await pricesOf('chat-default')).toMatchObject([
        { promptMicro: 2_000_000n, inForceFromMs: from.getTime() },
      ]);
    });

    test('G-28 a price to come can be withdrawn and set again; one in force or about to be cannot', async () => {
      const withdraw = (from: Date, alias = ALIAS) => withdrawPrice(parts(), { alias, from });
      const from = inDays(30);
      await set({ from });
      expect(await withdraw(from)).toMatchObject({
        outcome: 'changed',
        version: { promptMicro: 2_000_000n },
      });
      expect(await pricesOf('chat-default')).toHaveLength(1);
      expect(await withdraw(from)).toMatchObject({ problem: expect.stringContaining('no price from') });
      expect(await set({ from })).toMatchObject({ outcome: 'changed' });
      expect(await withdraw(from, 'svc/nothing')).toMatchObject({ outcome: 'unknown-alias' });
      const soon = new Date(Date.now() + 30_000);
      await set({ from: soon });
      for (const late of [soon, new Date(0)]) {
        expect(await withdraw(late)).toMatchObject({ problem: expect.stringContaining('in force') });
      }
      expect(database.query("delete from model_prices where alias = 'chat-default'")).rejects.toThrow(
        'append-only',
      );
    });

    test('a time already used and an invalid time are refused', async () => {
      for (const from of [new Date(0), new Date(Number.NaN)]) {
        expect(await set({ from, reason: 'a test' })).toMatchObject({ outcome: 'wrong-time' });
      }
      const from = inDays(9);
      await set({ from });
      const taken = await set({ from, price: { ...PRICE, prompt: 3 } });
      expect(taken).toMatchObject({ outcome: 'wrong-time', problem: expect.stringContaining('already') });
      expect(await pricesOf('chat-default')).toHaveLength(2);
    });

    test.each(['-1', '1.0000001', '1e3', '', '1000000.000001', 0.000_000_1, -1, Number.NaN, 1_000_001])(
      'a price of %p is refused, not rounded',
      async (wrong) => {
        for (const part of ['prompt', 'cached', 'completion']) {
          const refused = await set({ price: { ...PRICE, [part]: wrong } });
          expect(refused).toMatchObject({ outcome: 'wrong-price', problem: expect.stringContaining(part) });
        }
      },
    );

    test.each([
      [0.000_001, 1n],
      [1_000_000, 1_000_000_000_000n],
      [0, 0n],
    ])('a price of %p is %p micro-credits', async (prompt, promptMicro) => {
      const priced = await set({ price: { ...PRICE, prompt } });
      expect(priced).toMatchObject({ version: { promptMicro } });
    });

    test('a new price reaches the running processes', async () => {
      const log = createSilentLog();
      const directory = await createModelDirectory({ ...parts(), clock, log, embeddedAllowed: true });
      const promptMicro = () => priceAt(directory.find(ALIAS) ?? { prices: [] }, Date.now())?.promptMicro;
      expect(promptMicro()).toBe(1_000_000n);
      await set();
      await until(() => promptMicro() === 2_000_000n);
      await directory.close();
    });
  });

  describe('MODEL_CONFIG’s price at a start', () => {
    const file = { [ALIAS]: { price: { prompt: 1.5, cached: 0.75, completion: 6 } } };

    test('applies from then on; the same file again writes nothing', async () => {
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'changed', aliases: [ALIAS] });
      expect(await pricesOf('chat-default')).toMatchObject([
        { promptMicro: 1_500_000n, cachedMicro: 750_000n },
      ]);
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'unchanged' });
      await set();
      expect(await applyModelConfig(parts(), file)).toEqual({ outcome: 'changed', aliases: [ALIAS] });
    });
  });
});

describePostgres('with a server', () => {
  const database = usePostgres();

  function parts() {
    const secrets = createSystemSecrets();
    const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
    const sharedState = createInProcessState({ clock: createManualClock() });
    return { database, sharedState, secrets, cipher, prefix: 'svc' };
  }
  const versions = async (alias: string) =>
    (await database.query('select 1 from model_prices where alias = $1', [alias])).length;

  test('prices set at the same time are stored one after the other, none is lost', async () => {
    const set = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        setPrice(parts(), {
          alias: 'svc/chat-default',
          price: { prompt: at, cached: at, completion: at },
          from: null,
        }),
      ),
    );
    expect(set.map(({ outcome }) => outcome)).toEqual(Array(8).fill('changed'));
    expect(await versions('chat-default')).toBe(9);
  });
});
