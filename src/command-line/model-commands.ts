import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { ALIAS_NAMES, aliasOf } from '../domain/models/aliases.ts';
import { addAliasTarget, type CatalogueParts, setAliasTargets } from '../domain/models/change-targets.ts';
import { readCatalogue } from '../domain/models/stored-targets.ts';
import type { WantedTarget } from '../domain/models/wanted-target.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

export const aliasesCommand: Command = {
  name: 'aliases',
  usage: '',
  summary: 'The model aliases, their kinds and the targets behind them.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix }, words) {
    if (words.length > 0) {
      terminal.complain('usage: turnpike aliases');
      return EXIT_USAGE;
    }
    const { targets } = await readCatalogue(database);
    for (const { name, kind } of ALIAS_NAMES) {
      terminal.print(`${aliasOf(aliasPrefix, name)} (${kind})`);
      const own = targets.filter(({ alias }) => alias === name);
      if (own.length === 0) terminal.print('  no targets: served by the embedded models');
      for (const { baseUrl, model, weight, sealedKey } of own) {
        terminal.print(
          `  ${baseUrl} ${model}, weight ${weight}, ${sealedKey === null ? 'no' : 'with a'} key`,
        );
      }
    }
    return EXIT_OK;
  },
};

const SET_ALIAS_USAGE =
  'ALIAS BASE_URL MODEL [--key-file /PATH] [--weight N] [--add], or: turnpike set-alias ALIAS --embedded';

/** The provider's key comes from a file: on a command line every process of the machine could read it. */
export const setAliasCommand: Command = {
  name: 'set-alias',
  usage: 'ALIAS BASE_URL MODEL …',
  summary: 'Puts a provider behind a model alias, within a second. Without words it says its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, secrets, aliasPrefix, cipher }, words) {
    const wish = readWish(words);
    if (wish === null) {
      terminal.complain(`usage: turnpike set-alias ${SET_ALIAS_USAGE}`);
      return EXIT_USAGE;
    }
    const key = await readKey(wish.keyFile);
    if (key.outcome === 'failed') {
      terminal.complain(key.problem);
      return EXIT_FAILED;
    }
    const catalogue: CatalogueParts = {
      database,
      sharedState,
      secrets,
      prefix: aliasPrefix,
      cipher: await cipher(),
    };
    const targets = wish.targets.map((target) => ({ ...target, apiKey: key.apiKey }));
    const [target] = targets;
    const changed =
      wish.isAdded && target !== undefined
        ? await addAliasTarget(catalogue, wish.alias, target)
        : await setAliasTargets(catalogue, wish.alias, targets);
    if (changed.outcome !== 'changed') {
      terminal.complain(changed.problem);
      return EXIT_FAILED;
    }
    terminal.print(`${wish.alias} ${wish.isAdded ? 'has one more target' : 'is changed'}`);
    return EXIT_OK;
  },
};

interface Wish {
  readonly alias: string;
  readonly targets: readonly WantedTarget[];
  readonly keyFile: string | null;
  readonly isAdded: boolean;
}

function readWish(words: readonly string[]): Wish | null {
  const typed = parse(words);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [alias, baseUrl, model, ...rest] = positionals;
  const keyFile = values['key-file'] ?? null;
  if (alias === undefined || rest.length > 0) return null;
  if (values.embedded === true) {
    const isAlone = baseUrl === undefined && words.length === 2;
    return isAlone ? { alias, targets: [], keyFile, isAdded: false } : null;
  }
  if (baseUrl === undefined || model === undefined) return null;
  const target = { baseUrl, model, apiKey: null, weight: Number(values.weight ?? '1') };
  return { alias, targets: [target], keyFile, isAdded: values.add === true };
}

function parse(words: readonly string[]) {
  const options = {
    'key-file': { type: 'string' },
    weight: { type: 'string' },
    add: { type: 'boolean' },
    embedded: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch {
    return null;
  }
}

type KeyRead =
  | { readonly outcome: 'read'; readonly apiKey: string | null }
  | { readonly outcome: 'failed'; readonly problem: string };

const LARGEST_KEY_FILE = 8_192;

/** Read where the command runs, which may be a service in another folder and under another user. */
async function readKey(path: string | null): Promise<KeyRead> {
  if (path === null) return { outcome: 'read', apiKey: null };
  const failed = (problem: string): KeyRead => ({ outcome: 'failed', problem: `--key-file: ${problem}` });
  if (!isAbsolute(path)) return failed(`${path} must begin with /`);
  try {
    if ((await stat(path)).size > LARGEST_KEY_FILE) return failed(`${path} is too large for a key`);
    const apiKey = (await readFile(path, 'utf8')).trim();
    return apiKey === '' ? failed(`${path} is empty`) : { outcome: 'read', apiKey };
  } catch {
    return failed(`${path} cannot be read by the user that runs the database's process`);
  }
}
