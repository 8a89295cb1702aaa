import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../test/doubles/steered-statements.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { DEFAULT_BOUNDS } from './aliases.ts';
import { createCipher } from './cipher.ts';
import { createModelDirectory, type ModelDirectory, type ModelDirectoryParts } from './model-directory.ts';
import { aliasesWithoutTargets } from './routing/fallbacks.ts';
import { setAliasTargets } from './targets.ts';

const secrets = createSystemSecrets();
const cipherUnder = (masterKey: string) => createCipher({ masterKeys: [masterKey], secrets });
const cipher = cipherUnder('the master key of these tests, long enough');
const wrongCipher = cipherUnder('some other master key, which is as long');
const ALIAS = 'svc/chat-default';
const UNKNOWN_ALIAS = {
  alias: ALIAS,
  kind: 'chat',
  targets: [],
  prices: [],
  ...DEFAULT_BOUNDS.chat,
} as const;
const PROVIDER = {
  baseUrl: 'https://one.example/v1',
  model: 'provider-model-9',
  apiKey: 'sk-one',
  weight: 1,
};

const NO_ROUTING = {
  strategy: 'weight',
  retries: 0,
  retryStatuses: [],
  fallback: null,
  hedgeMs: null,
} as const;

const elsewhere = () => createInProcessState({ clock: createManualClock() });

describe('the directory', () => {
  const database = useDatabase();
  beforeEach(async () => void (await database.query('delete from model_targets')));

  const opened: ModelDirectory[] = [];
  afterEach(async () => {
    for (const directory of opened.splice(0)) await directory.close();
  });

  /** A process of its own: its clock, its log, and messages that only reach it where the shared state is one. */
  async function open(changes: Partial<ModelDirectoryParts> = {}) {
    const clock = createManualClock();
    const { log, entries } = createRecordingLog();
    const sharedState = createInProcessState({ clock });
    const steered = steerStatements(database);
    const parts = {
      database: steered,
      sharedState,
      clock,
      log,
      cipher,
      prefix: 'svc',
      embeddedAllowed: true,
    };
    const directory = await createModelDirectory({ ...parts, ...changes });
    opened.push(directory);
    const setFrom = (state = sharedState, model = 'new') =>
      setAliasTargets({ ...parts, sharedState: state, database, secrets }, ALIAS, [{ ...PROVIDER, model }]);
    const clear = () => setAliasTargets({ ...parts, database, secrets }, ALIAS, []);
    const model = (alias = ALIAS) => directory.find(alias)?.targets[0]?.model ?? null;
    return { directory, clock, entries, sharedState, steered, setFrom, clear, model };
  }

  describe('the aliases (G-14, G-27)', () => {
    test('there are six, under the configured prefix', async () => {
      const { directory } = await open({ prefix: 'acme' });
      expect(directory.all().map(({ alias, kind }) => [alias, kind])).toEqual([
        ['acme/chat-premium', 'chat'],
        ['acme/chat-default', 'chat'],
        ['acme/chat-cheap', 'chat'],
        ['acme/extract-default', 'extract'],
        ['acme/extract-fast', 'extract'],
        ['acme/embed-default', 'embed'],
      ]);
      for (const alias of directory.all()) expect(directory.find(alias.alias)).toBe(alias);
    });

    test('nothing else is found: no provider’s model, no other prefix, no other spelling', async () => {
      const { directory, setFrom } = await open();
      await setFrom(undefined, PROVIDER.model);
      await until(() => directory.find(ALIAS)?.targets[0]?.model === PROVIDER.model);
      const others = [PROVIDER.model, 'chat-default', 'acme/chat-default', 'SVC/chat-default', `${ALIAS} `];
      for (const alias of [...others, '', '__proto__', 'constructor'])
        expect(directory.find(alias)).toBeNull();
    });
  });

  describe('an alias without targets', () => {
    test('is served by the embedded models', async () => {
      const { directory } = await open();
      const target = { id: 'embedded', baseUrl: null, model: ALIAS, apiKey: null, weight: 1 };
      expect(directory.find(ALIAS)?.targets).toEqual([target]);
      expect(directory.all().every(({ targets }) => targets[0]?.id === 'embedded')).toBe(true);
    });

    test('has none at all in production, unless it extracts', async () => {
      const { directory } = await open({ embeddedAllowed: false });
      const without = directory.all().filter(({ targets }) => targets.length === 0);
      expect(without.map(({ kind }) => kind)).toEqual(['chat', 'chat', 'chat', 'embed']);
      expect(directory.find('svc/extract-fast')?.targets[0]?.baseUrl).toBeNull();
    });

    test('is reported in production at the start and when it loses its targets, unless a fallback serves it', async () => {
      const { entries, directory, setFrom, clear, model } = await open({ embeddedAllowed: false });
      const reports = () => entries.filter(({ message }) => message.includes('have no provider'));
      const names = ['svc/chat-premium', 'svc/chat-default', 'svc/chat-cheap', 'svc/embed-default'];
      expect(reports().map(({ context }) => context.aliases)).toEqual([names]);
      await setFrom();
      await until(() => model() === 'new');
      expect(aliasesWithoutTargets(directory.all())).toEqual(names.filter((name) => name !== ALIAS));
      expect(reports()).toHaveLength(1);
      const withFallback = directory
        .all()
        .map((alias) =>
          alias.alias === 'svc/chat-cheap'
            ? { ...alias, routing: { ...NO_ROUTING, fallback: ALIAS } }
            : alias,
        );
      expect(aliasesWithoutTargets(withFallback)).toEqual(['svc/chat-premium', 'svc/embed-default']);
      await clear();
      await until(() => model() === null);
      expect(reports().map(({ context }) => context.aliases)).toEqual([names, names]);
    });
  });

  describe('a change (G-15)', () => {
    test('arrives by message without any time passing', async () => {
      const { directory, model, setFrom } = await open();
      await setFrom();
      await until(() => model() === 'new');
      const [target] = directory.find(ALIAS)?.targets ?? [];
      expect(target).toMatchObject({ ...PROVIDER, model: 'new' });
    });

    test('made by hand in the database applies within a second', async () => {
      const { clock, model, setFrom } = await open();
      await setFrom();
      await until(() => model() === 'new');
      await database.query('update model_targets set model = $1', ['by hand']);
      await clock.advance(1_000);
      await until(() => model() === 'by hand');
      await database.query('truncate model_targets');
      await clock.advance(1_000);
      await until(() => model() === ALIAS);
    });

    test('that arrives while an older one is being read is read after it', async () => {
      const { model, setFrom, steered } = await open();
      steered.hold();
      await setFrom(undefined, 'first');
      await steered.held(1);
      await setFrom(undefined, 'second');
      steered.release();
      await until(() => model() === 'second');
    });

    test('nothing is read again while nothing changes: a check is one small statement', async () => {
      const { clock, steered } = await open();
      const before = steered.asked.length;
      await clock.advance(3_000);
      await until(() => steered.asked.length > before);
      const texts = new Set(steered.asked.slice(before).map(({ text }) => text));
      expect([...texts]).toEqual(['select version from model_catalogue']);
    });
  });

  describe('when a dependency is unavailable or wrong', () => {
    test('without the database the last known catalogue applies, and the outage is logged once', async () => {
      const { clock, model, setFrom, steered, entries } = await open();
      await setFrom();
      await until(() => model() === 'new');
      steered.failWith('unavailable');
      await setFrom(elsewhere(), 'newer');
      await clock.advance(5_000);
      expect(model()).toBe('new');
      expect(entries.map(({ level }) => level)).toEqual(['error']);
      expect(entries[0]?.message).toContain('the last known one stays in force');
      steered.failWith(null);
      await clock.advance(1_000);
      await until(() => model() === 'newer');
      await until(() => entries.length === 2);
      expect(entries[1]).toMatchObject({ level: 'info', message: 'the model catalogue can be read again' });
    });

    test('it does not start without a catalogue, and leaves no timer', async () => {
      const steered = steerStatements(database);
      steered.failWith('unavailable');
      const clock = createManualClock();
      const opening = open({ database: steered, clock });
      expect(await opening.catch((error: Error) => error.name)).toBe('DatabaseFailure');
      expect(clock.pendingTimers()).toBe(0);
    });

    test('under a wrong MASTER_KEY the alias has no targets, is not served by the embedded models, and the log says why', async () => {
      const { setFrom } = await open();
      await setFrom();
      const { directory, entries } = await open({ cipher: wrongCipher });
      expect(directory.find(ALIAS)?.targets).toEqual([]);
      expect(directory.find('svc/chat-cheap')?.targets).toHaveLength(1);
      expect(entries).toHaveLength(2);
      expect(entries[0]).toMatchObject({ level: 'error', context: { alias: ALIAS } });
      expect(String(entries[0]?.context.error)).toContain('MASTER_KEY');
      expect(entries[1]).toMatchObject({ level: 'warn', context: { aliases: [ALIAS] } });
    });

    test('a key that cannot be decrypted leaves the alias with its previous targets', async () => {
      const { clock, directory, model, setFrom, entries } = await open();
      await setFrom();
      await until(() => model() === 'new');
      await database.query('update model_targets set base_url = $1', ['https://thief.example']);
      await clock.advance(1_000);
      await until(() => entries.length === 1);
      await until(async () => directory.find(ALIAS)?.targets[0]?.baseUrl === PROVIDER.baseUrl);
      expect(JSON.stringify(entries)).not.toContain(PROVIDER.apiKey);
    });

    test('a target that keeps failing is tried last, and its replacement starts without failures', async () => {
      const catalogue = { database, sharedState: elsewhere(), cipher, secrets, prefix: 'svc' };
      const two = [PROVIDER, { ...PROVIDER, model: 'second' }];
      await setAliasTargets(catalogue, ALIAS, two);
      const { clock, directory } = await open();
      const order = () => directory.order(directory.find(ALIAS) ?? UNKNOWN_ALIAS, 0);
      const id = order()[0]?.id ?? '';
      for (let time = 0; time < 5; time += 1) directory.noteFailure(id);
      expect(order().map(({ model }) => model)).toEqual(['second', PROVIDER.model]);
      directory.noteSuccess(id);
      expect(order()[0]?.id).toBe(id);
      for (let time = 0; time < 5; time += 1) directory.noteFailure(id);
      await setAliasTargets(catalogue, ALIAS, two);
      await clock.advance(1_000);
      await until(() => order().every((target) => target.id !== id));
      expect(order().map(({ model }) => model)).toEqual([PROVIDER.model, 'second']);
    });

    test('once closed, it has no timer and receives no messages', async () => {
      const { clock, directory, model, setFrom, steered } = await open();
      await directory.close();
      expect(clock.pendingTimers()).toBe(0);
      const before = steered.asked.length;
      await setFrom();
      await clock.advance(5_000);
      expect([model(), steered.asked.length]).toEqual([ALIAS, before]);
    });
  });
});
