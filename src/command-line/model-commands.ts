import {
  type Margin,
  type MarginGroup,
  type MarginQuestion,
  marginPercent,
  marginReport,
} from '../domain/calls/usage/margins.ts';
import { creditsOfMicro } from '../domain/credits/ledger/credit-account.ts';
import { boundsOf, readBounds } from '../domain/models/alias-bounds.ts';
import { readAliases, routingOf, type StoredAlias } from '../domain/models/alias-catalogue.ts';
import { type AliasBounds, type AliasRouting, type AliasTools, aliasOf } from '../domain/models/aliases.ts';
import { retireAlias } from '../domain/models/change-alias.ts';
import { aliasToolsOf, readTools } from '../domain/models/hosted-tools.ts';
import { type AliasPrice, readPrices, setPrice } from '../domain/models/prices.ts';
import { belowCostText, pricesBelowCost } from '../domain/models/prices-below-cost.ts';
import type { StoredTarget } from '../domain/models/target.ts';
import { readCatalogue } from '../domain/models/targets.ts';
import { factorsInWords, shownFactors } from '../domain/models/tiers/price-factors.ts';
import {
  type Command,
  type CommandContext,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  momentIn,
  type OpenedSystem,
  printJson,
  readOptions,
  takeJson,
} from './command.ts';

const WITHOUT_TARGETS = {
  embedded: 'served by the embedded models',
  unconfigured: 'calls answer 503. Add one with turnpike set-alias',
} as const;

export const aliasesCommand: Command = {
  name: 'aliases',
  usage: '[--retired] [--json]',
  summary: 'Lists the model aliases, their kinds and targets. With --retired, retired ones are included.',
  works: 'on-the-database',
  async run({ terminal, database, aliasPrefix, isProduction = false }, given) {
    const { isJson, words } = takeJson(given);
    const [option, ...more] = words;
    if (more.length > 0 || (option !== undefined && option !== '--retired')) {
      return complainOfUsage(terminal, aliasesCommand);
    }
    const { targets } = await readCatalogue(database);
    const tools = await readTools(database);
    const bounds = await readBounds(database);
    // The embedded engine serves extract aliases in production too.
    const served = ({ kind }: StoredAlias) =>
      isProduction && kind !== 'extract' ? 'unconfigured' : 'embedded';
    const listed = (await readAliases(database))
      .filter(({ retiredAt }) => retiredAt === null || option === '--retired')
      .map((alias) => ({
        ...alias,
        bounds: boundsOf(
          alias.kind,
          bounds.find((one) => one.alias === alias.name),
        ),
        routing: routingOf(aliasPrefix, alias),
        targets: targets.filter((target) => target.alias === alias.name),
        hostedTools: shownTools(aliasToolsOf(tools.find((one) => one.alias === alias.name))),
      }));
    if (isJson) {
      return printJson(
        terminal,
        listed.map((alias) => aliasAsJson(aliasOf(aliasPrefix, alias.name), alias, served(alias))),
      );
    }
    for (const alias of listed) {
      const retired = alias.retiredAt === null ? '' : `, retired ${alias.retiredAt.toISOString()}`;
      terminal.print(`${aliasOf(aliasPrefix, alias.name)} (${alias.kind}${retired})`);
      if (retired !== '') continue;
      if (alias.targets.length === 0) terminal.print(`  no targets: ${WITHOUT_TARGETS[served(alias)]}`);
      for (const { provider, baseUrl, model, weight, sealedKey } of alias.targets) {
        const key = `${sealedKey === null ? 'no' : 'with a'} key`;
        terminal.print(`  ${provider}: ${baseUrl} ${model}, weight ${weight}, ${key}`);
      }
      if (alias.routing !== null) terminal.print(`  routing: ${describedRouting(alias.routing)}`);
      const factors = shownFactors(alias.priceFactors);
      if (factors.length > 0) terminal.print(`  price factors: ${factorsInWords(factors)}`);
      if (alias.hostedTools !== null) terminal.print(`  hosted tools: ${describedTools(alias.hostedTools)}`);
    }
    return EXIT_OK;
  },
};

interface ListedAlias extends StoredAlias {
  readonly bounds: AliasBounds;
  readonly routing: AliasRouting | null;
  readonly targets: readonly StoredTarget[];
  readonly hostedTools: ReturnType<typeof shownTools>;
}

function aliasAsJson(alias: string, listed: ListedAlias, served: keyof typeof WITHOUT_TARGETS) {
  const { kind, retiredAt, bounds, routing, hostedTools } = listed;
  const targets = listed.targets.map((target) => {
    const { provider, baseUrl, model, weight, sealedKey, timeoutMs, idleTimeoutMs, maxInFlight } = target;
    const limits = { timeoutMs, idleTimeoutMs, maxInFlight };
    return { provider, baseUrl, model, weight, hasKey: sealedKey !== null, ...limits };
  });
  const status = retiredAt !== null ? 'retired' : targets.length > 0 ? 'configured' : served;
  return {
    ...{
      alias,
      kind,
      status,
      contextLength: bounds.contextLength,
      maxOutputTokens: bounds.maxOutputTokens,
      targets,
    },
    ...(routing === null ? {} : { routing }),
    ...(listed.priceFactors === null ? {} : { priceFactors: shownFactors(listed.priceFactors) }),
    ...(hostedTools === null ? {} : { hostedTools }),
    ...(retiredAt === null ? {} : { retiredAt: retiredAt.toISOString() }),
  };
}

function describedRouting(routing: AliasRouting): string {
  const { strategy, retries, retryStatuses, fallback, fallbackPrice, hedgeMs } = routing;
  return [
    `by ${strategy}`,
    retries > 0 ? `${retries} retries` : [],
    retryStatuses.length > 0 ? `also after ${retryStatuses.join(', ')}` : [],
    fallback === null ? [] : `fallback ${fallback}${fallbackPrice === 'served' ? ' at its own price' : ''}`,
    hedgeMs === null ? [] : `hedge after ${hedgeMs} ms`,
  ]
    .flat()
    .join('; ');
}

export const retireAliasCommand: Command = {
  name: 'retire-alias',
  usage: 'ALIAS',
  summary: 'Retires one of your aliases. Further calls are refused; its usage remains available.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, aliasPrefix }, words) {
    const [alias, ...more] = words;
    if (alias === undefined || more.length > 0) return complainOfUsage(terminal, retireAliasCommand);
    const retired = await retireAlias({ database, sharedState, prefix: aliasPrefix }, alias);
    if (retired.outcome !== 'changed') {
      terminal.complain(retired.problem);
      return EXIT_FAILED;
    }
    terminal.print(`${alias} is retired`);
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
  summary: 'Sets what an alias costs, from now or later on. Without arguments it lists its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, secrets, aliasPrefix, clock }, words) {
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
    await warnOfCosts({ terminal, database, aliasPrefix, clock }, set.version.alias);
    return EXIT_OK;
  },
};

type WarnParts = Pick<CommandContext & OpenedSystem, 'database' | 'aliasPrefix' | 'terminal' | 'clock'>;

/**
 * Warns of prices below the cost of a target, for one alias or, with null, for all. Such prices are in force
 * nevertheless.
 */
async function warnOfCosts(
  { terminal, database, aliasPrefix, clock }: WarnParts,
  only: string | null,
): Promise<void> {
  const { targets } = await readCatalogue(database);
  const prices = await readPrices(database);
  const aliases = [...new Set(prices.map(({ alias }) => alias))].filter(
    (name) => only === null || name === only,
  );
  const priced = aliases.map((name) => ({
    alias: aliasOf(aliasPrefix, name),
    prices: prices.filter(({ alias }) => alias === name),
    targets: targets.filter(({ alias }) => alias === name),
  }));
  for (const below of pricesBelowCost(priced, clock.now())) {
    terminal.complain(`warning: ${belowCostText(below, creditsOfMicro)}`);
  }
}

/** Null if the arguments cannot be parsed; the domain validates the values. */
function readPriceChange(words: readonly string[]) {
  const option = { type: 'string' } as const;
  const options = {
    ...{ prompt: option, cached: option, completion: option, from: option },
    'cache-write': option,
  };
  const typed = readOptions(words, options, 1);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [alias] = positionals;
  const { prompt, cached, completion, from } = values;
  if (alias === undefined || prompt === undefined || cached === undefined || completion === undefined)
    return null;
  const cacheWrite = values['cache-write'];
  const price = { prompt, cached, completion, cacheWrite };
  return { alias, price, from: from === undefined ? null : momentIn(from) };
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

const BY: Readonly<Record<string, MarginGroup>> = {
  model: 'MODEL',
  provider: 'PROVIDER',
  company: 'COMPANY',
  day: 'DAY',
};
const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;

export const marginsCommand: Command = {
  name: 'margins',
  usage: '[--by model|provider|company|day] [--from YYYY-MM-DD] [--to YYYY-MM-DD] [--json]',
  summary: 'Cost, revenue and margin of all calls whose cost is known; the last 30 days by default.',
  works: 'on-the-database',
  async run({ terminal, database, clock, aliasPrefix }, given) {
    const { isJson, words } = takeJson(given);
    const question = readMarginQuestion(words, clock.now());
    if (question === null) return complainOfUsage(terminal, marginsCommand);
    const { rows, totals, uncosted, unpriced } = await marginReport(database, question);
    if (isJson) {
      const shown = rows.map((row) => ({ ...row, marginPercent: marginPercent(row) }));
      return printJson(terminal, { ...question, rows: shown, totals, uncosted, unpriced });
    }
    for (const row of rows) terminal.print(`${row.name}: ${describedMargin(row)}`);
    terminal.print(`all: ${describedMargin(totals)}`);
    if (uncosted.calls > 0n) {
      const revenue = creditsOfMicro(uncosted.revenueMicro);
      terminal.print(`besides, ${uncosted.calls} calls of targets without a cost brought in ${revenue}`);
    }
    if (unpriced.calls > 0n) {
      const tokens = unpriced.promptTokens + unpriced.completionTokens;
      terminal.print(
        `the cost of ${unpriced.calls} calls (${tokens} tokens) is not fully known: providers reported what no price covers`,
      );
    }
    await warnOfCosts({ terminal, database, aliasPrefix, clock }, null);
    return EXIT_OK;
  },
};

function describedMargin(margin: Margin): string {
  const { calls, costMicro, revenueMicro } = margin;
  const percent = marginPercent(margin);
  const credits = `cost ${creditsOfMicro(costMicro)}, revenue ${creditsOfMicro(revenueMicro)}`;
  const left = `margin ${creditsOfMicro(revenueMicro - costMicro)}${percent === null ? '' : ` (${percent}%)`}`;
  return `${calls} calls, ${credits}, ${left}`;
}

/** Null if the arguments are invalid. */
function readMarginQuestion(words: readonly string[], nowMs: number): MarginQuestion | null {
  const option = { type: 'string' } as const;
  const typed = readOptions(words, { by: option, from: option, to: option });
  if (typed === null) return null;
  const { values } = typed;
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const { by = 'model', to = today } = values;
  const groupBy = BY[by];
  if (groupBy === undefined || !isDay(to)) return null;
  const from = values.from ?? new Date(Date.parse(to) - 29 * DAY_MS).toISOString().slice(0, 10);
  return isDay(from) && from <= to ? { from, to, groupBy } : null;
}

function isDay(text: string): boolean {
  return DAY.test(text) && !Number.isNaN(Date.parse(text));
}
