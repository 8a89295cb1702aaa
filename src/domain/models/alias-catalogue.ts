import type { Statements, Transaction } from '../../ports/database.ts';
import {
  ALIAS_NAMES,
  type AliasKind,
  type AliasName,
  type AliasRouting,
  aliasOf,
  FALLBACK_PRICES,
  type FallbackPrice,
  isDocumented,
  nameOfAlias,
  ROUTING_STRATEGIES,
  unknownAlias,
} from './aliases.ts';
import type { PriceFactors } from './tiers/tiers.ts';

export const ALIAS_KINDS: readonly AliasKind[] = ['chat', 'extract', 'embed'];

/** Every process keeps all aliases that are not retired in memory. */
export const MOST_ALIASES = 1_000;

/** As stored in the database. */
export interface StoredAlias extends StoredRouting {
  readonly name: AliasName;
  readonly kind: AliasKind;
  /** The share of the price that calls with a company's own key are charged; null if own keys are not allowed. */
  readonly byokFeeMillionths: number | null;
  readonly priceFactors: PriceFactors | null;
  /** Null for the documented ones, which always exist. */
  readonly createdAt: Date | null;
  /** Since then its calls are answered like those of a model that the key may not call. */
  readonly retiredAt: Date | null;
}

/** Null is the default of each field. */
interface StoredRouting {
  readonly strategy: AliasRouting['strategy'] | null;
  readonly retries: number | null;
  readonly retryStatuses: readonly number[] | null;
  readonly fallback: AliasName | null;
  readonly fallbackPrice: FallbackPrice | null;
  readonly hedgeMs: number | null;
}

export const NO_ROUTING: StoredRouting = {
  ...{ strategy: null, retries: null, retryStatuses: null, hedgeMs: null },
  ...{ fallback: null, fallbackPrice: null },
};

const NOTHING_STORED = { ...NO_ROUTING, byokFeeMillionths: null, priceFactors: null };

/** The six documented ones in their order, then the others by name, including retired ones. */
export async function readAliases(statements: Statements): Promise<readonly StoredAlias[]> {
  const stored = await statements.query<
    Omit<StoredAlias, 'priceFactors'> & { readonly factors: string | null }
  >(
    `select alias as name, kind, strategy, retries, retry_statuses as "retryStatuses", fallback, hedge_ms as "hedgeMs", fallback_price as "fallbackPrice",
       byok_fee_millionths as "byokFeeMillionths", price_factors::text as factors, created_at as "createdAt", retired_at as "retiredAt"
     from model_aliases order by alias`,
  );
  const rows = stored.map(({ factors, ...row }): StoredAlias => {
    return { ...row, priceFactors: factors === null ? null : (JSON.parse(factors) as PriceFactors) };
  });
  const documented = ALIAS_NAMES.map(({ name, kind }): StoredAlias => {
    const own = rows.find((row) => row.name === name) ?? NOTHING_STORED;
    return { ...own, name, kind, createdAt: null, retiredAt: null };
  });
  return [...documented, ...rows.filter(({ name }) => !isDocumented(name))];
}

/** As clients write them: the aliases that a key without a list may call, and that a key's list may contain. */
export async function callableAliases(statements: Statements, prefix: string): Promise<readonly string[]> {
  const aliases = await readAliases(statements);
  return aliases.flatMap(({ name, retiredAt }) => (retiredAt === null ? aliasOf(prefix, name) : []));
}

type FoundAlias =
  | { readonly outcome: 'found'; readonly alias: StoredAlias }
  | { readonly outcome: 'unknown-alias'; readonly problem: string };

/** Finds an alias by the name that clients write. Retired ones are not found. */
export async function findAlias(statements: Statements, prefix: string, alias: string): Promise<FoundAlias> {
  const aliases = await readAliases(statements);
  const name = nameOfAlias(prefix, alias);
  const found = aliases.find((one) => one.name === name);
  if (found !== undefined && found.retiredAt === null) return { outcome: 'found', alias: found };
  if (found !== undefined) {
    return {
      outcome: 'unknown-alias',
      problem: `the alias ${JSON.stringify(alias)} is retired: ${UNRETIRE}`,
    };
  }
  const own = aliases.filter(({ name, retiredAt }) => !isDocumented(name) && retiredAt === null);
  const problem = unknownAlias(
    prefix,
    alias,
    own.map((one) => one.name),
  );
  return { outcome: 'unknown-alias', problem };
}

export const UNRETIRE = 'create it again, with the same kind, to use it';

/** How to try the targets. Omitted fields stay unchanged; null is the default. */
export interface AliasRoutingParams {
  readonly strategy?: string | null | undefined;
  readonly retries?: number | null | undefined;
  readonly retryStatuses?: readonly number[] | null | undefined;
  /** As clients write it. */
  readonly fallback?: string | null | undefined;
  readonly fallbackPrice?: string | null | undefined;
  readonly hedgeMs?: number | null | undefined;
}

export type CheckedRouting = Partial<StoredRouting>;

const MOST_RETRIES = 10;
const MOST_STATUSES = 20;
const LONGEST_HEDGE_MS = 600_000;

/** `problemWithFallbacks` checks that the fallback exists and is of the same kind, which requires all aliases. */
export function checkRouting(
  prefix: string,
  params: AliasRoutingParams,
):
  | { readonly outcome: 'fine'; readonly routing: CheckedRouting }
  | { readonly outcome: 'wrong'; readonly problem: string } {
  const wrong = (problem: string) => ({ outcome: 'wrong', problem }) as const;
  const { strategy, retries, retryStatuses, fallback, fallbackPrice, hedgeMs } = params;
  const known = ROUTING_STRATEGIES.find((one) => one === strategy);
  if (strategy != null && known === undefined) return wrong('strategy is order, weight or latency');
  if (retries != null && !isWhole(retries, 0, MOST_RETRIES)) {
    return wrong(`retries is a whole number from 0 to ${MOST_RETRIES}`);
  }
  if (retryStatuses != null) {
    if (retryStatuses.length > MOST_STATUSES || retryStatuses.some((status) => !isWhole(status, 400, 599))) {
      return wrong(`retry_statuses is a list of at most ${MOST_STATUSES} statuses from 400 to 599`);
    }
  }
  if (hedgeMs != null && !isWhole(hedgeMs, 1, LONGEST_HEDGE_MS)) {
    return wrong(`hedge_ms is a whole number of milliseconds from 1 to ${LONGEST_HEDGE_MS}`);
  }
  const charged = FALLBACK_PRICES.find((one) => one === fallbackPrice);
  if (fallbackPrice != null && charged === undefined) return wrong('fallback_price is requested or served');
  const name = fallback == null ? null : nameOfAlias(prefix, fallback);
  if (fallback != null && name === null) return wrong(`fallback: ${unknownAlias(prefix, fallback)}`);
  return {
    outcome: 'fine',
    routing: {
      ...(strategy === undefined ? {} : { strategy: known ?? null }),
      ...(retries === undefined ? {} : { retries }),
      ...(retryStatuses === undefined ? {} : { retryStatuses: sortedStatuses(retryStatuses) }),
      ...(fallback === undefined ? {} : { fallback: name }),
      ...(fallbackPrice === undefined ? {} : { fallbackPrice: charged ?? null }),
      ...(hedgeMs === undefined ? {} : { hedgeMs }),
    },
  };
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function sortedStatuses(statuses: readonly number[] | null): readonly number[] | null {
  return statuses === null || statuses.length === 0 ? null : [...new Set(statuses)].sort((a, b) => a - b);
}

type Chained = Pick<StoredAlias, 'name' | 'kind' | 'fallback' | 'retiredAt'>;

/** Checks that every fallback exists, is of the same kind, and leads to an end. Null if there is no problem. */
export function problemWithFallbacks(prefix: string, aliases: readonly Chained[]): string | null {
  const byName = new Map(aliases.map((alias) => [alias.name, alias]));
  for (const alias of aliases) {
    if (alias.retiredAt !== null || alias.fallback === null) continue;
    const shown = aliasOf(prefix, alias.name);
    const next = byName.get(alias.fallback);
    const fallback = aliasOf(prefix, alias.fallback);
    if (next === undefined || next.retiredAt !== null) {
      return `${shown} cannot fall back to ${fallback}: there is no such alias, or it is retired`;
    }
    if (next.kind !== alias.kind) {
      return `${shown} cannot fall back to ${fallback}: it is of the kind ${next.kind}, not ${alias.kind}`;
    }
    const passed = [alias.name];
    for (let at: Chained | undefined = next; at !== undefined; at = byName.get(at.fallback ?? '')) {
      if (at.name === alias.name) {
        const circle = [...passed, alias.name].map((name) => aliasOf(prefix, name)).join(' → ');
        return `fallbacks must not form a circle: ${circle}`;
      }
      if (passed.includes(at.name)) break;
      passed.push(at.name);
    }
  }
  return null;
}

/** Null if all fields have their defaults. */
export function routingOf(prefix: string, stored: StoredRouting): AliasRouting | null {
  const { strategy, retries, retryStatuses, fallback, fallbackPrice, hedgeMs } = stored;
  if ([strategy, retries, retryStatuses, fallback, fallbackPrice, hedgeMs].every((one) => one === null)) {
    return null;
  }
  return {
    strategy: strategy ?? 'weight',
    retries: retries ?? 0,
    retryStatuses: retryStatuses ?? [],
    fallback: fallback === null ? null : aliasOf(prefix, fallback),
    ...(fallbackPrice === null ? {} : { fallbackPrice }),
    hedgeMs,
  };
}

/** Only under the catalogue's lock. A retired alias is restored, with the kind and the prices it had. */
export async function insertAlias(transaction: Transaction, name: AliasName, kind: AliasKind): Promise<void> {
  await transaction.query(
    `insert into model_aliases (alias, kind) values ($1, $2) on conflict (alias) do update set retired_at = null`,
    [name, kind],
  );
}

/** Only under the catalogue's lock. */
export async function writeRetirement(transaction: Transaction, name: AliasName): Promise<void> {
  await transaction.query('update model_aliases set retired_at = now() where alias = $1', [name]);
}

/** Writes nothing if nothing differs. Only under the catalogue's lock, and after `problemWithFallbacks`. */
export async function ensureRouting(
  transaction: Transaction,
  { name, kind, ...stored }: StoredAlias,
  changes: CheckedRouting,
): Promise<boolean> {
  const { strategy, retries, retryStatuses, fallback, fallbackPrice, hedgeMs } = { ...stored, ...changes };
  const isSame =
    strategy === stored.strategy &&
    retries === stored.retries &&
    (retryStatuses ?? []).join() === (stored.retryStatuses ?? []).join() &&
    fallback === stored.fallback &&
    fallbackPrice === stored.fallbackPrice &&
    hedgeMs === stored.hedgeMs;
  if (isSame) return false;
  await transaction.query(
    `insert into model_aliases (alias, kind, strategy, retries, retry_statuses, fallback, hedge_ms, fallback_price)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (alias) do update set strategy = excluded.strategy, retries = excluded.retries,
       retry_statuses = excluded.retry_statuses, fallback = excluded.fallback, hedge_ms = excluded.hedge_ms,
       fallback_price = excluded.fallback_price`,
    [name, kind, strategy, retries, retryStatuses, fallback, hedgeMs, fallbackPrice],
  );
  return true;
}
