import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { createCipher } from './cipher.ts';
import { setPrice } from './prices.ts';

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

  test('G-28 eight processes that start at once with the same price set it once', async () => {
    const file = { 'svc/chat-cheap': { price: { prompt: 0.5, cached: 0.25, completion: 2 } } };
    const applied = await Promise.all(Array.from({ length: 8 }, () => applyModelConfig(parts(), file)));
    expect(applied.filter(({ outcome }) => outcome === 'changed')).toHaveLength(1);
    expect(await versions('chat-cheap')).toBe(2);
  });

  test('prices that are set at once follow each other, none is lost', async () => {
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
