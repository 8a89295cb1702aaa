import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TypedParts, typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { createCipher } from '../domain/models/cipher.ts';
import { readCatalogue } from '../domain/models/targets.ts';
import type { ModelUpstream, UpstreamTarget } from '../ports/model-upstream.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { aliasesCommand, marginsCommand, retireAliasCommand, setPriceCommand } from './model-commands.ts';
import { modelsCommand, setAliasCommand } from './set-alias-command.ts';

const secrets = createSystemSecrets();
const cipher = createCipher({ masterKeys: ['the master key of these tests, long enough'], secrets });
const ALIAS = 'acme/chat-default';
const URL = 'https://one.example/v1';

const database = useDatabase();

describe('models and targets', () => {
  let folder: string;
  let sent: { readonly target: UpstreamTarget; readonly endpoint: string }[] = [];
  let status = 200;
  const provider: ModelUpstream = {
    async send(target, { endpoint }) {
      sent.push({ target, endpoint });
      const left = [new TextEncoder().encode('{"choices":[],"data":[],"error":{"message":"wrong key"}}')];
      return { status, contentType: '', body: { read: () => left.shift() ?? null, cancel() {} } };
    },
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnpike-keys-'));
    await database.query('delete from model_targets');
    sent = [];
    status = 200;
  });
  afterEach(() => rm(folder, { recursive: true }));

  const typed = (command: Command, ...words: string[]) =>
    typedCommand(
      {
        database,
        cipher: async () => cipher,
        providers: async () => ({ ...provider, close() {} }),
      } as TypedParts,
      command,
      ...words,
    );

  const fileWith = async (text: string) => {
    const path = join(folder, 'key');
    await writeFile(path, text);
    return path;
  };

  describe('set-alias', () => {
    test('price factors are set, shown and removed', async () => {
      const set = (...factors: string[]) =>
        typed(setAliasCommand, ALIAS, ...factors.flatMap((one) => ['--price-factor', one]));
      expect((await set('service_tier=priority:2', 'speed=fast:6')).exitCode).toBe(EXIT_OK);
      const shown = '  price factors: service_tier=priority 2, speed=fast 6';
      expect((await typed(aliasesCommand)).lines).toContain(shown);
      expect((await set('tier=a:1')).exitCode).not.toBe(EXIT_OK);
      expect((await set('none')).exitCode).toBe(EXIT_OK);
      expect((await typed(aliasesCommand)).lines.join()).not.toContain('price factors');
    });

    test('a fee for own provider keys is set and removed; a price below cost causes a warning; margins are summed', async () => {
      const fee = async () =>
        (
          await database.query(
            "select byok_fee_millionths as fee from model_aliases where alias = 'chat-default'",
          )
        )[0]?.fee;
      expect((await typed(setAliasCommand, ALIAS, '--byok-fee-percent', '12.5')).exitCode).toBe(EXIT_OK);
      expect(await fee()).toBe(125_000);
      expect((await typed(setAliasCommand, ALIAS, '--byok-fee-percent', '101')).exitCode).toBe(EXIT_FAILED);
      expect((await typed(setAliasCommand, ALIAS, '--byok-fee-percent', 'none')).exitCode).toBe(EXIT_OK);
      expect(await fee()).toBeNull();
      const cost = ['--cost-prompt', '1', '--cost-cached', '1', '--cost-completion', '900000'];
      const target = ['--provider', 'vllm', '--url', URL, '--model', 'm', '--no-test'];
      await typed(setAliasCommand, ALIAS, ...target, ...cost);
      const price = ['--prompt', '2', '--cached', '2', '--completion', '8'];
      const priced = await typed(setPriceCommand, ALIAS, ...price);
      const below = `! warning: ${ALIAS} is below cost: its completion price is 8 credits a million tokens, and one.example costs 900000. Raise the price, or take the target out.`;
      expect(priced).toMatchObject({ exitCode: EXIT_OK, lines: [expect.anything(), below] });
      const shown = await typed(marginsCommand, '--by', 'provider');
      expect(shown).toEqual({
        exitCode: EXIT_OK,
        lines: ['all: 0 calls, cost 0, revenue 0, margin 0', below],
      });
      expect((await typed(marginsCommand, '--by', 'moon')).exitCode).toBe(EXIT_USAGE);
    });

    test('enables hosted tools with their prices, lists ids, and warns about all of them', async () => {
      const words = ['--tool', 'web_search=0.01', '--tool', 'file_search=0', '--max-tool-uses', '3'];
      const set = await typed(setAliasCommand, ALIAS, ...words, '--provider-id', 'vs_1');
      expect(set).toEqual({ exitCode: EXIT_OK, lines: [`${ALIAS} is changed`] });
      expect((await typed(setAliasCommand, ALIAS, ...words)).lines).toEqual([`${ALIAS} is as it was`]);
      const { lines } = await typed(aliasesCommand);
      expect(lines).toContain(
        '  hosted tools: file_search 0, web_search 0.01 credits a use, 3 uses a call; provider ids vs_1',
      );
      const any = await typed(setAliasCommand, ALIAS, '--no-tools', '--provider-id', '*');
      expect(any.lines[1]).toContain('Every company that may call this alias');
      expect((await typed(setAliasCommand, ALIAS, '--tool', 'teleport=1')).exitCode).toBe(EXIT_FAILED);
      await typed(setAliasCommand, ALIAS, '--no-tools', '--no-provider-ids');
      expect((await typed(aliasesCommand)).lines.join()).not.toContain('hosted tools');
    });

    test('with a provider: one test call is made to the preset’s address, and then it is saved', async () => {
      const path = await fileWith('sk-secret');
      const words = ['--provider', 'anthropic', '--model', 'claude', '--header', 'x-a=b=c'];
      const { exitCode, lines } = await typed(setAliasCommand, ALIAS, ...words, '--key-file', path);
      expect(lines).toEqual([
        'Test call to https://api.anthropic.com/v1: claude answered. (0 ms)',
        `${ALIAS} is changed`,
      ]);
      expect(exitCode).toBe(EXIT_OK);
      expect(sent).toMatchObject([
        { target: { apiKey: 'sk-secret', wire: { keyHeader: 'x-api-key', headers: { 'x-a': 'b=c' } } } },
      ]);
      const { targets } = await readCatalogue(database);
      expect(targets).toMatchObject([{ provider: 'anthropic', baseUrl: 'https://api.anthropic.com/v1' }]);
      const sealed = targets[0]?.sealedKey ?? new Uint8Array();
      expect(await cipher.decrypt(sealed, 'https://api.anthropic.com/v1')).toBe('sk-secret');
    });

    test('a failing test call is reported and nothing is saved, unless --no-test is given', async () => {
      status = 401;
      const words = [ALIAS, '--provider', 'vllm', '--model', 'm', '--responses', 'on'];
      const failed = await typed(setAliasCommand, ...words);
      expect(failed.exitCode).toBe(EXIT_FAILED);
      expect(failed.lines[0]).toContain('status 401. wrong key Check the key.');
      expect(failed.lines[1]).toContain('Nothing was saved');
      expect((await readCatalogue(database)).targets).toEqual([]);
      const saved = await typed(setAliasCommand, ...words, '--no-test');
      const untested = 'No test call was made: a wrong key or address shows only when a client calls it.';
      expect(saved).toEqual({ exitCode: EXIT_OK, lines: [`${ALIAS} is changed`, untested] });
      expect(sent).toHaveLength(1);
      expect((await readCatalogue(database)).targets).toMatchObject([{ provider: 'vllm', responses: true }]);
    });

    test('with an address: it is tested too, so that a wrong key is not saved', async () => {
      status = 401;
      const words = [ALIAS, URL, 'm', '--key-file', await fileWith('sk-wrong')];
      const failed = await typed(setAliasCommand, ...words);
      expect([failed.exitCode, failed.lines[0]]).toEqual([
        EXIT_FAILED,
        expect.stringContaining('status 401'),
      ]);
      expect((await readCatalogue(database)).targets).toEqual([]);
      expect((await typed(setAliasCommand, ...words, '--no-test')).exitCode).toBe(EXIT_OK);
    });

    test('adds a target, and returns an alias to the embedded models', async () => {
      await typed(setAliasCommand, ALIAS, URL, 'one');
      const added = await typed(setAliasCommand, ALIAS, URL, 'two', '--add');
      const called = `Test call to ${URL}: two answered. (0 ms)`;
      expect(added).toEqual({ exitCode: EXIT_OK, lines: [called, `${ALIAS} has one more target`] });
      expect((await readCatalogue(database)).targets.map(({ model }) => model)).toEqual(['one', 'two']);
      expect((await typed(setAliasCommand, ALIAS, '--embedded')).exitCode).toBe(EXIT_OK);
      expect((await readCatalogue(database)).targets).toEqual([]);
    });

    test('takes no key on the command line', async () => {
      const { exitCode, lines } = await typed(setAliasCommand, ALIAS, URL, 'm', 'sk-on-the-command-line');
      expect([exitCode, lines]).toEqual([EXIT_USAGE, [expect.stringContaining('set-alias ALIAS')]]);
    });

    test('reports an invalid provider, alias, target or file, and changes nothing', async () => {
      const complaint = async (...words: string[]) => {
        const { exitCode, lines } = await typed(setAliasCommand, ...words);
        expect([exitCode === EXIT_OK, lines.length]).toEqual([false, 1]);
        return lines[0] ?? '';
      };
      const ofProvider = (name: string) => complaint(ALIAS, '--provider', name, '--model', 'm');
      expect(await ofProvider('acme')).toContain('There is no provider acme. Use one of openai, anthropic,');
      expect(await ofProvider('azure')).toContain('Azure OpenAI has no address of its own');
      expect(await ofProvider('openai')).toContain('OpenAI needs a key');
      expect(sent).toEqual([]);
      expect(await complaint('svc/chat-default', URL, 'm')).toContain('there is no alias "svc/chat-default"');
      expect(await complaint(ALIAS, 'one.example', 'm')).toContain('its address must begin with http');
      const ofFile = (path: string) => complaint(ALIAS, URL, 'm', '--key-file', path);
      expect(await ofFile('key')).toContain('must begin with /');
      expect(await ofFile(join(folder, 'none'))).toContain(`there is no file ${join(folder, 'none')}`);
      expect(await ofFile(folder)).toContain('cannot be read');
      expect(await ofFile(await fileWith('\n'))).toContain('is empty');
      expect(await ofFile(await fileWith('k'.repeat(9_000)))).toContain('is too large');
      expect((await readCatalogue(database)).targets).toEqual([]);
    });
  });

  test('aliases lists kinds and targets, and never a key (G-14)', async () => {
    const path = await fileWith('sk-secret');
    await typed(setAliasCommand, ALIAS, URL, 'one', '--key-file', path);
    await typed(setAliasCommand, ALIAS, `${URL}/`, 'two', '--add', '--weight', '3');
    const { exitCode, lines } = await typed(aliasesCommand);
    expect(exitCode).toBe(EXIT_OK);
    expect(lines.slice(0, 6)).toEqual([
      'acme/chat-premium (chat)',
      '  no targets: served by the embedded models',
      'acme/chat-default (chat)',
      '  openai: https://one.example/v1 one, weight 1, with a key',
      '  openai: https://one.example/v1 two, weight 3, no key',
      'acme/chat-cheap (chat)',
    ]);
    expect(lines).toHaveLength(13);
    expect((await typed(aliasesCommand, 'x')).exitCode).toBe(EXIT_USAGE);
    const [first, second] = JSON.parse((await typed(aliasesCommand, '--json')).lines.join('\n'));
    expect(first).toEqual({
      ...{ alias: 'acme/chat-premium', kind: 'chat', status: 'embedded', targets: [] },
      ...{ contextLength: 200_000, maxOutputTokens: 16_384 },
    });
    expect(second.targets[0]).toEqual({
      ...{ provider: 'openai', baseUrl: 'https://one.example/v1', model: 'one', weight: 1, hasKey: true },
      ...{ timeoutMs: null, idleTimeoutMs: null, maxInFlight: null },
    });
  });

  test('models lists the catalogue, and set-alias suggests or applies its figures', async () => {
    const { lines } = await typed(modelsCommand, 'openai');
    const at = lines.indexOf('openai gpt-4o (chat): reads 128000, writes 16384 tokens');
    expect(lines[at + 1]).toContain('2.5 USD prompt, 1.25 cached, 10 completion for a million tokens, ');
    const all = JSON.parse((await typed(modelsCommand, '--json')).lines.join('\n'));
    expect(all[0]).toMatchObject({
      vendor: 'openai',
      isStale: expect.any(Boolean),
      asOf: expect.any(String),
    });
    expect((await typed(modelsCommand, 'acme')).lines[0]).toContain('Use one of openai, anthropic');
    const key = await fileWith('sk-secret');
    const words = ['--provider', 'openai', '--model', 'gpt-4o', '--key-file', key];
    const suggested = await typed(setAliasCommand, ALIAS, ...words);
    expect(suggested.lines[1]).toBe(
      'Suggested: --context-length 128000 --max-output-tokens 16384; --suggested sets them',
    );
    await typed(setAliasCommand, ALIAS, ...words, '--suggested');
    const shown = JSON.parse((await typed(aliasesCommand, '--json')).lines.join('\n'))[1];
    expect(shown).toMatchObject({ contextLength: 128_000, maxOutputTokens: 16_384 });
    await typed(setAliasCommand, ALIAS, '--context-length', '200000', '--max-output-tokens', '16384');
  });

  test('an own alias is added with its kind and price, changed, listed and retired', async () => {
    const own = 'team-a/fast';
    const price = ['--prompt', '0.2', '--cached', '0.1', '--completion', '0.8'];
    const set = async (...words: string[]) => await typed(setAliasCommand, own, ...words);
    expect((await set('--provider', 'ollama', '--model', 'm')).lines[0]).toContain('To add one, give --kind');
    expect(sent).toEqual([]);
    expect((await set('--kind', 'image', ...price)).lines).toEqual(['! --kind is chat, extract, embed']);
    expect((await set('--kind', 'chat')).lines[0]).toContain('needs a price');
    expect((await set('--kind', 'chat', '--prompt', '1')).exitCode).toBe(EXIT_USAGE);
    const limits = ['--timeout-ms', '900', '--idle-timeout-ms', '800', '--max-in-flight', '4'];
    const added = await set('--kind', 'chat', ...price, '--provider', 'ollama', '--model', 'm', ...limits);
    expect([added.exitCode, added.lines.at(-1)]).toEqual([EXIT_OK, `${own} is added`]);
    expect(sent).toHaveLength(1);
    expect(
      (
        await set(
          ...['--context-length', '131072', '--fallback', 'acme/chat-cheap', '--retries', '2'],
          ...['--fallback-price', 'served'],
        )
      ).lines,
    ).toEqual([`${own} is changed`]);
    expect((await set('--fallback', 'acme/embed-default')).lines[0]).toContain('of the kind embed, not chat');
    const listed = (await typed(aliasesCommand)).lines;
    expect(listed.slice(-3)).toEqual([
      `${own} (chat)`,
      '  ollama: http://127.0.0.1:11434/v1 m, weight 1, no key',
      '  routing: by weight; 2 retries; fallback acme/chat-cheap at its own price',
    ]);
    const json = JSON.parse((await typed(aliasesCommand, '--json')).lines.join('\n')).at(-1);
    expect(json).toMatchObject({
      alias: own,
      contextLength: 131_072,
      targets: [{ timeoutMs: 900, idleTimeoutMs: 800, maxInFlight: 4 }],
    });
    expect((await typed(retireAliasCommand, own)).lines).toEqual([`${own} is retired`]);
    expect((await typed(retireAliasCommand, 'acme/chat-cheap')).lines[0]).toContain('cannot be retired');
    expect((await typed(retireAliasCommand)).exitCode).toBe(EXIT_USAGE);
    expect((await typed(aliasesCommand)).lines.join()).not.toContain(own);
    expect((await typed(aliasesCommand, '--retired')).lines.at(-1)).toStartWith(`${own} (chat, retired 20`);
  });

  test('aliases warns that in production an alias without targets returns 503', async () => {
    const { lines } = await typedCommand({ database, isProduction: true }, aliasesCommand);
    expect(lines[1]).toBe('  no targets: calls answer 503. Add one with turnpike set-alias');
    const json = await typedCommand({ database, isProduction: true }, aliasesCommand, '--json');
    const listed: { alias: string; status: string }[] = JSON.parse(json.lines.join('\n'));
    expect(listed[0]?.status).toBe('unconfigured');
    // These are served by the embedded engine.
    const extract = listed.filter(({ alias }) => alias.startsWith('acme/extract-'));
    expect(extract.map(({ status }) => status)).toEqual(['embedded', 'embedded']);
    expect(lines[lines.indexOf('acme/extract-fast (extract)') + 1]).toBe(
      '  no targets: served by the embedded models',
    );
  });
});
