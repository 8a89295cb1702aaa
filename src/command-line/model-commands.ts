import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { resealTotp } from '../domain/accounts/two-factor.ts';
import { creditsOfMicro } from '../domain/credits/ledger/credit-account.ts';
import { ALIAS_NAMES, aliasOf } from '../domain/models/aliases.ts';
import { type AliasPrice, readPrices, setPrice } from '../domain/models/prices.ts';
import type { WantedTarget } from '../domain/models/target.ts';
import {
  addAliasTarget,
  type CatalogueParts,
  readCatalogue,
  resealTargets,
  setAliasTargets,
} from '../domain/models/targets.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK, momentIn } from './command.ts';

export const aliasesCommand: Command = {
  name: 'aliases',
  usage: '',
  summary: 'The model aliases, their kinds and the targets behind them.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix }, words) {
    if (words.length > 0) {
      return complainOfUsage(terminal, aliasesCommand);
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
    const wish = readAliasChange(words);
    if (wish === null) {
      return complainOfUsage(terminal, setAliasCommand, SET_ALIAS_USAGE);
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

interface AliasChange {
  readonly alias: string;
  readonly targets: readonly WantedTarget[];
  readonly keyFile: string | null;
  readonly isAdded: boolean;
}

function readAliasChange(words: readonly string[]): AliasChange | null {
  const typed = parseAliasOptions(words);
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

function parseAliasOptions(words: readonly string[]) {
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

export const pricesCommand: Command = {
  name: 'prices',
  usage: '',
  summary: 'What each model alias costs now, and from when on it will cost otherwise.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix }, words) {
    if (words.length > 0) {
      return complainOfUsage(terminal, pricesCommand);
    }
    for (const price of await readPrices(database)) terminal.print(linePriced(aliasPrefix, price));
    return EXIT_OK;
  },
};

const SET_PRICE_USAGE =
  'ALIAS --prompt CREDITS --cached CREDITS --completion CREDITS [--from 2031-12-31T23:00Z], for a million tokens';

export const setPriceCommand: Command = {
  name: 'set-price',
  usage: 'ALIAS …',
  summary: 'Sets what an alias costs, from now or later on. Without words it says its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, secrets, aliasPrefix }, words) {
    const wish = readPriceChange(words);
    if (wish === null) {
      return complainOfUsage(terminal, setPriceCommand, SET_PRICE_USAGE);
    }
    const set = await setPrice({ database, sharedState, secrets, prefix: aliasPrefix }, wish);
    if (set.outcome !== 'changed') {
      terminal.complain(set.problem);
      return EXIT_FAILED;
    }
    terminal.print(linePriced(aliasPrefix, set.version));
    return EXIT_OK;
  },
};

/** Null where it cannot be read at all; what it says is judged by the domain. */
function readPriceChange(words: readonly string[]) {
  const option = { type: 'string' } as const;
  const options = { prompt: option, cached: option, completion: option, from: option };
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [alias, ...rest] = positionals;
    const { prompt, cached, completion, from } = values;
    if (alias === undefined || rest.length > 0) return null;
    if (prompt === undefined || cached === undefined || completion === undefined) return null;
    return { alias, price: { prompt, cached, completion }, from: from === undefined ? null : momentIn(from) };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}

function linePriced(prefix: string, price: AliasPrice): string {
  const from =
    price.inForceFromMs <= 0 ? 'from the beginning' : `from ${new Date(price.inForceFromMs).toISOString()}`;
  const parts = `prompt ${creditsOfMicro(price.promptMicro)}, cached ${creditsOfMicro(price.cachedMicro)}`;
  return `${aliasOf(prefix, price.alias)} ${from}: ${parts}, completion ${creditsOfMicro(price.completionMicro)}`;
}

/** The second of the three steps in which MASTER_KEY is changed; docs/operations.md tells all of them. */
export const resealKeysCommand: Command = {
  name: 'reseal-keys',
  usage: '',
  summary:
    'Encrypts all provider keys and two-factor secrets anew under MASTER_KEY, so that MASTER_KEY_ALSO can go.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, aliasPrefix, cipher }, words) {
    if (words.length > 0) {
      return complainOfUsage(terminal, resealKeysCommand);
    }
    const sealing = await cipher();
    const { resealed, unreadable } = await resealTargets({ database, sharedState, cipher: sealing });
    const totp = await resealTotp(database, sealing);
    terminal.print(`${resealed} provider keys are encrypted under MASTER_KEY`);
    for (const { alias, baseUrl } of unreadable) {
      terminal.complain(
        `the key of ${baseUrl} behind ${aliasOf(aliasPrefix, alias)} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: set the alias again`,
      );
    }
    if (totp.resealed > 0)
      terminal.print(`${totp.resealed} two-factor secrets are encrypted under MASTER_KEY`);
    for (const userId of totp.unreadable) {
      terminal.complain(
        `the two-factor secret of user ${userId} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: run turnpike reset-totp`,
      );
    }
    return unreadable.length + totp.unreadable.length > 0 ? EXIT_FAILED : EXIT_OK;
  },
};
