import { beforeAll, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { createCipher } from './cipher.ts';
import { createModelDirectory } from './model-directory.ts';
import { addAliasTarget, type CatalogueParts, readCatalogue, setAliasTargets } from './targets.ts';

const ALIAS = 'svc/chat-default';
const PROVIDER = { baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-one', weight: 0.1 };

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

  test('a directory reads what was written, and a change by hand within a second (G-15)', async () => {
    await setAliasTargets(parts, ALIAS, [PROVIDER]);
    const { log, entries } = createRecordingLog();
    const directory = await createModelDirectory({ ...parts, clock, log, embeddedAllowed: false });
    const target = () => directory.find(ALIAS)?.targets[0];
    expect(target()).toMatchObject(PROVIDER);
    await database.query('update model_targets set weight = 7');
    await clock.advance(1_000);
    await until(() => target()?.weight === 7);
    expect(target()).toMatchObject({ ...PROVIDER, weight: 7 });
    expect(entries).toEqual([]);
    await directory.close();
  });
});
