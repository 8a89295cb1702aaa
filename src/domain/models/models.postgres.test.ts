import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { type FreshDatabase, freshDatabase } from '../../../test/services/fresh-database.ts';
import { givenDatabase } from '../../../test/services/given.ts';
import { migrate } from '../../adapters/database/migrate.ts';
import { openPostgres } from '../../adapters/database/postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { Database } from '../../ports/database.ts';
import { applyModelConfig } from './apply-model-config.ts';
import { createCipher } from './cipher.ts';
import { createModelDirectory } from './model-directory.ts';
import { addAliasTarget, type CatalogueParts, readCatalogue, setAliasTargets } from './targets.ts';

const ALIAS = 'svc/chat-default';
const PROVIDER = { baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-one', weight: 0.1 };

/** What the engines read differently, and what depends on locks. */
describe.skipIf(givenDatabase() === null)('models on PostgreSQL', () => {
  const secrets = createSystemSecrets();
  const clock = createManualClock();
  const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
  let fresh: FreshDatabase;
  let database: Database;
  let parts: CatalogueParts;
  beforeAll(async () => {
    fresh = await freshDatabase();
    const bounds = { poolSize: 8, maxWaiting: 100, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 };
    const names = { url: fresh.url, log: createSilentLog(), applicationName: 'turnpike-test' };
    database = await openPostgres({ ...bounds, ...names });
    await migrate(database);
    parts = { database, sharedState: createInProcessState({ clock }), secrets, cipher, prefix: 'svc' };
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.drop();
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
