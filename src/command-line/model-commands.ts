import { parseArgs } from 'node:util';
import { resealTotp } from '../domain/accounts/two-factor.ts';
import { creditsOfMicro } from '../domain/credits/ledger/credit-account.ts';
import { ALIAS_NAMES, type AliasTools, aliasOf } from '../domain/models/aliases.ts';
import { aliasToolsOf, readTools } from '../domain/models/hosted-tools.ts';
import { type AliasPrice, readPrices, setPrice } from '../domain/models/prices.ts';
import { readCatalogue, resealTargets } from '../domain/models/targets.ts';
import { resealOwnKeys } from '../domain/own-keys/own-keys.ts';
import {
  type Command,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  momentIn,
  printJson,
  takeJson,
} from './command.ts';

const WITHOUT_TARGETS = {
  embedded: 'served by the embedded models',
  unconfigured: 'calls answer 503. Add one with turnpike set-alias',
} as const;

export const aliasesCommand: Command = {
  name: 'aliases',
  usage: '[--json]',
  summary: 'The model aliases, their kinds and the targets behind them.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix, isProduction = false }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) {
      return complainOfUsage(terminal, aliasesCommand);
    }
    const { targets } = await readCatalogue(database);
    const tools = await readTools(database);
    const served = isProduction ? 'unconfigured' : 'embedded';
    if (isJson) {
      const aliases = ALIAS_NAMES.map(({ name, kind }) => {
        const own = targets.filter(({ alias }) => alias === name);
        const shown = own.map(({ provider, baseUrl, model, weight, sealedKey }) => {
          return { provider, baseUrl, model, weight, hasKey: sealedKey !== null };
        });
        const status = own.length > 0 ? 'configured' : served;
        const hostedTools = shownTools(aliasToolsOf(tools.find(({ alias }) => alias === name)));
        const alias = { alias: aliasOf(aliasPrefix, name), kind, status, targets: shown };
        return hostedTools === null ? alias : { ...alias, hostedTools };
      });
      return printJson(terminal, aliases);
    }
    for (const { name, kind } of ALIAS_NAMES) {
      terminal.print(`${aliasOf(aliasPrefix, name)} (${kind})`);
      const own = targets.filter(({ alias }) => alias === name);
      if (own.length === 0) terminal.print(`  no targets: ${WITHOUT_TARGETS[served]}`);
      for (const { provider, baseUrl, model, weight, sealedKey } of own) {
        const key = `${sealedKey === null ? 'no' : 'with a'} key`;
        terminal.print(`  ${provider}: ${baseUrl} ${model}, weight ${weight}, ${key}`);
      }
      const hosted = shownTools(aliasToolsOf(tools.find(({ alias }) => alias === name)));
      if (hosted !== null) terminal.print(`  hosted tools: ${describedTools(hosted)}`);
    }
    return EXIT_OK;
  },
};

function shownTools(tools: AliasTools | null) {
  if (tools === null) return null;
  const { prices, maxUses, providerIds } = tools;
  const creditsPerUse = Object.fromEntries(
    [...prices].map(([tool, micro]) => [tool, creditsOfMicro(BigInt(micro))]),
  );
  return { creditsPerUse, maxUses, providerIds: [...providerIds] };
}

function describedTools({ creditsPerUse, maxUses, providerIds }: NonNullable<ReturnType<typeof shownTools>>) {
  const priced = Object.entries(creditsPerUse).map(([tool, credits]) => `${tool} ${credits}`);
  const tools = priced.length === 0 ? 'none' : `${priced.join(', ')} credits a use, ${maxUses} uses a call`;
  return providerIds.length === 0 ? tools : `${tools}; provider ids ${providerIds.join(', ')}`;
}

export const pricesCommand: Command = {
  name: 'prices',
  usage: '[--json]',
  summary: 'What each model alias costs now and later, in credits per million tokens.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) {
      return complainOfUsage(terminal, pricesCommand);
    }
    const prices = await readPrices(database);
    if (isJson) {
      const shown = prices.map(({ alias, inForceFromMs, promptMicro, cachedMicro, completionMicro }) => {
        const [prompt, cached, completion] = [promptMicro, cachedMicro, completionMicro].map(creditsOfMicro);
        const from = inForceFromMs <= 0 ? null : new Date(inForceFromMs).toISOString();
        return { alias: aliasOf(aliasPrefix, alias), from, unit: PRICE_UNIT, prompt, cached, completion };
      });
      return printJson(terminal, shown);
    }
    for (const price of prices) terminal.print(linePriced(aliasPrefix, price));
    return EXIT_OK;
  },
};

const PRICE_UNIT = 'credits per million tokens';
const SET_PRICE_USAGE =
  'ALIAS --prompt CREDITS --cached CREDITS --completion CREDITS [--cache-write CREDITS] [--from 2031-12-31T23:00Z], for a million tokens';

export const setPriceCommand: Command = {
  name: 'set-price',
  usage: 'ALIAS …',
  summary: 'Sets what an alias costs, from now or later on. Without words it says its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, secrets, aliasPrefix }, words) {
    const change = readPriceChange(words);
    if (change === null) {
      return complainOfUsage(terminal, setPriceCommand, SET_PRICE_USAGE);
    }
    const set = await setPrice({ database, sharedState, secrets, prefix: aliasPrefix }, change);
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
  const options = {
    ...{ prompt: option, cached: option, completion: option, from: option },
    'cache-write': option,
  };
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [alias, ...rest] = positionals;
    const { prompt, cached, completion, from } = values;
    if (alias === undefined || rest.length > 0) return null;
    if (prompt === undefined || cached === undefined || completion === undefined) return null;
    const cacheWrite = values['cache-write'];
    const price = { prompt, cached, completion, cacheWrite };
    return { alias, price, from: from === undefined ? null : momentIn(from) };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}

function linePriced(prefix: string, price: AliasPrice): string {
  const from =
    price.inForceFromMs <= 0 ? 'from the beginning' : `from ${new Date(price.inForceFromMs).toISOString()}`;
  const parts = `prompt ${creditsOfMicro(price.promptMicro)}, cached ${creditsOfMicro(price.cachedMicro)}`;
  const { cacheWriteMicro } = price;
  const written = cacheWriteMicro == null ? '' : `, cache write ${creditsOfMicro(cacheWriteMicro)}`;
  const completion = `completion ${creditsOfMicro(price.completionMicro)}`;
  return `${aliasOf(prefix, price.alias)} ${from}: ${parts}${written}, ${completion} ${PRICE_UNIT}`;
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
    const own = await resealOwnKeys({ database, sharedState, cipher: sealing });
    const totp = await resealTotp(database, sealing);
    terminal.print(`${resealed + own.resealed} provider keys are encrypted under MASTER_KEY`);
    for (const { alias, baseUrl } of unreadable) {
      terminal.complain(
        `the key of ${baseUrl} behind ${aliasOf(aliasPrefix, alias)} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: set the alias again`,
      );
    }
    for (const { alias, companyId } of own.unreadable) {
      terminal.complain(
        `the own key of company ${companyId} for ${aliasOf(aliasPrefix, alias)} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: the company has to store it again`,
      );
    }
    if (totp.resealed > 0)
      terminal.print(`${totp.resealed} two-factor secrets are encrypted under MASTER_KEY`);
    for (const userId of totp.unreadable) {
      terminal.complain(
        `the two-factor secret of user ${userId} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: run turnpike reset-totp`,
      );
    }
    return unreadable.length + own.unreadable.length + totp.unreadable.length > 0 ? EXIT_FAILED : EXIT_OK;
  },
};
