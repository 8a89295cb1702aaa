import { beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { useMemoryDatabase } from '../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../adapters/shared-state/in-process.ts';
import { createCipher } from '../domain/models/cipher.ts';
import { readCatalogue, setAliasTargets } from '../domain/models/targets.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { resealKeysCommand } from './model-commands.ts';

const secrets = createSystemSecrets();
const clock = createManualClock();
const OLD = 'the master key that is to go, long enough';
const NEW = 'the master key that is to stay, long enough';
const ADDRESS = 'https://one.example/v1';
const under = (...masterKeys: [string, ...string[]]) => createCipher({ masterKeys, secrets });
const database = useMemoryDatabase();

beforeEach(async () => {
  await database.query('delete from model_targets');
  const sharedState = createInProcessState({ clock });
  const parts = { database, sharedState, secrets, prefix: 'svc', cipher: under(OLD) };
  const target = { baseUrl: ADDRESS, model: 'm', apiKey: 'sk-kept', weight: 1 };
  await setAliasTargets(parts, 'svc/chat-default', [target, { ...target, apiKey: null }]);
});

async function typed(cipher: ReturnType<typeof under>, ...words: string[]) {
  const lines: string[] = [];
  const terminal = {
    print: (line: string) => void lines.push(line),
    complain: (line: string) => void lines.push(`! ${line}`),
  };
  const never = () => Promise.reject(new Error('not in this test'));
  const sharedState = createInProcessState({ clock });
  const system = { clock, secrets, database, sharedState, aliasPrefix: 'svc', jobQueue: {} as never };
  const context = { terminal, ...system, cipher: async () => cipher, accessTokens: never, migrate: never };
  return { exitCode: await resealKeysCommand.run(context, words), lines };
}

async function sealedKeys() {
  const { targets } = await readCatalogue(database);
  return targets.flatMap(({ sealedKey }) => (sealedKey === null ? [] : [sealedKey]));
}

describe('turnpike reseal-keys', () => {
  test('a master key is changed without an outage: all keys open under the new one alone afterwards', async () => {
    const [before] = await sealedKeys();
    expect(await under(NEW, OLD).decrypt(before ?? new Uint8Array(), ADDRESS)).toBe('sk-kept');
    const { exitCode, lines } = await typed(under(NEW, OLD));
    expect([exitCode, lines]).toEqual([EXIT_OK, ['1 provider keys are encrypted under MASTER_KEY']]);
    const [after] = await sealedKeys();
    expect(await under(NEW).decrypt(after ?? new Uint8Array(), ADDRESS)).toBe('sk-kept');
    expect(lines.join()).not.toContain('sk-kept');
  });

  test('a key that opens under neither is named and stays as it is', async () => {
    const [before] = await sealedKeys();
    const { exitCode, lines } = await typed(under(NEW));
    expect(exitCode).toBe(EXIT_FAILED);
    expect(lines.at(-1)).toStartWith(`! the key of ${ADDRESS} behind svc/chat-default opens under neither`);
    expect(await sealedKeys()).toEqual([before ?? new Uint8Array()]);
    expect((await typed(under(NEW), 'x')).exitCode).toBe(EXIT_USAGE);
  });
});
