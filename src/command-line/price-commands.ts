import { parseArgs } from 'node:util';
import { creditsOfMicro } from '../domain/credits/credit-amount.ts';
import { aliasOf } from '../domain/models/aliases.ts';
import { type AliasPrice, readPrices, setPrice } from '../domain/models/prices.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

export const pricesCommand: Command = {
  name: 'prices',
  usage: '',
  summary: 'What each model alias costs now, and from when on it will cost otherwise.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix }, words) {
    if (words.length > 0) {
      terminal.complain('usage: turnpike prices');
      return EXIT_USAGE;
    }
    for (const price of await readPrices(database)) terminal.print(lineAbout(aliasPrefix, price));
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
    const wish = readWish(words);
    if (wish === null) {
      terminal.complain(`usage: turnpike set-price ${SET_PRICE_USAGE}`);
      return EXIT_USAGE;
    }
    const set = await setPrice({ database, sharedState, secrets, prefix: aliasPrefix }, wish);
    if (set.outcome !== 'changed') {
      terminal.complain(set.problem);
      return EXIT_FAILED;
    }
    terminal.print(lineAbout(aliasPrefix, set.version));
    return EXIT_OK;
  },
};

/** A day in UTC, or a moment with its zone. */
const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Null where it cannot be read at all; what it says is judged by the domain. */
function readWish(words: readonly string[]) {
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

function momentIn(text: string): Date {
  return new Date(ISO_DATE.test(text) ? text : Number.NaN);
}

function lineAbout(prefix: string, price: AliasPrice): string {
  const from =
    price.inForceFromMs <= 0 ? 'from the beginning' : `from ${new Date(price.inForceFromMs).toISOString()}`;
  const parts = `prompt ${creditsOfMicro(price.promptMicro)}, cached ${creditsOfMicro(price.cachedMicro)}`;
  return `${aliasOf(prefix, price.alias)} ${from}: ${parts}, completion ${creditsOfMicro(price.completionMicro)}`;
}
