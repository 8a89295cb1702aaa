import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { findAlias } from './alias-catalogue.ts';
import type { AliasName, PriceVersion, TokenPrice } from './aliases.ts';
import { changeCatalogue } from './targets.ts';
import { checkPrice, isSamePrice, type TokenPriceParams } from './token-price.ts';

export type AliasPrice = PriceVersion & { readonly alias: AliasName };

/**
 * Prices are append-only: a new price replaces the previous one from its start time, and calls that began earlier keep
 * theirs. Times are the database's, one clock for all processes. A price that takes effect immediately may be missed by
 * calls that are charged while it is being written; their rows record the price that was charged.
 *
 * A price for a time that has passed changes no charge: it is that of calls that are charged from now on, and what
 * `rerateCalls` compares earlier ones with. A price that is more than a minute away can be withdrawn.
 */
export interface PriceToSet {
  readonly alias: string;
  readonly price: TokenPriceParams;
  /** Null means now. */
  readonly from: Date | null;
  /** Needed for a time that has passed; up to 500 characters. */
  readonly reason?: string | null;
}

type PriceSet =
  | { readonly outcome: 'changed'; readonly version: AliasPrice }
  | {
      readonly outcome: 'unknown-alias' | 'wrong-price' | 'wrong-time' | 'no-reason';
      readonly problem: string;
    };

interface PriceParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly secrets: Secrets;
  readonly prefix: string;
}

/** Per alias: every process keeps future prices in memory. */
const MOST_TO_COME = 100;
const COLUMNS = `id, alias, prompt_micro as "promptMicro", cached_micro as "cachedMicro",
  completion_micro as "completionMicro", cache_write_micro as "cacheWriteMicro", (extract(epoch from in_force_from) * 1000)::float8 as "inForceFromMs"`;

export async function setPrice(
  parts: PriceParts,
  { alias, price, from, reason = null }: PriceToSet,
): Promise<PriceSet> {
  const checked = checkPrice(price);
  if (checked.outcome === 'wrong') return { outcome: 'wrong-price', problem: checked.problem };
  if (from !== null && Number.isNaN(from.getTime())) {
    return { outcome: 'wrong-time', problem: 'the time must be like 2031-12-31T23:00Z' };
  }
  return await changeCatalogue(parts, async (transaction): Promise<PriceSet> => {
    const found = await findAlias(transaction, parts.prefix, alias);
    if (found.outcome === 'unknown-alias') return found;
    const { name } = found.alias;
    const id = parts.secrets.newId();
    if (from !== null && reason === null && (await isPast(transaction, from))) {
      return { outcome: 'no-reason', problem: 'a price for a time that has passed needs a reason' };
    }
    const version = await insertPrice(transaction, { id, alias: name, price: checked.price, from, reason });
    if (version !== null) return { outcome: 'changed', version };
    const taken = from !== null && (await hasPriceFrom(transaction, name, from));
    const problem = taken
      ? `${alias} has a price from that very moment already: choose another one`
      : `an alias has at most ${MOST_TO_COME} prices to come`;
    return { outcome: 'wrong-time', problem };
  });
}

/** Writes nothing if this is the price in force. Only under the catalogue's lock. */
export async function ensurePrice(
  transaction: Transaction,
  secrets: Secrets,
  alias: AliasName,
  price: TokenPrice,
): Promise<boolean> {
  const inForce = (await readPrices(transaction)).find((version) => version.alias === alias);
  if (inForce !== undefined && isSamePrice(inForce, price)) return false;
  return (
    (await insertPrice(transaction, { id: secrets.newId(), alias, price, from: null, reason: null })) !== null
  );
}

/** The price in force and future prices of every alias, by start time. */
export async function readPrices(statements: Statements): Promise<readonly AliasPrice[]> {
  return await statements.query<AliasPrice>(
    `select ${COLUMNS} from model_prices as price
     where in_force_from >= (select max(in_force_from) from model_prices
       where alias = price.alias and in_force_from <= (select clock_timestamp()))
     order by alias, in_force_from`,
  );
}

/** Also those that are no longer in force. */
export async function findPrices(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly AliasPrice[]> {
  return await statements.query<AliasPrice>(`select ${COLUMNS} from model_prices where id = any($1)`, [ids]);
}

interface NewPrice {
  readonly id: string;
  readonly alias: AliasName;
  readonly price: TokenPrice;
  readonly from: Date | null;
  readonly reason: string | null;
}

/**
 * Null if its start time is taken, or if there are too many future prices. `now()` is when the transaction began, before
 * it waited for the lock; `clock_timestamp()` is later than every price that was written to take effect immediately.
 */
async function insertPrice(
  transaction: Transaction,
  { id, alias, price, from, reason }: NewPrice,
): Promise<AliasPrice | null> {
  const rows = await transaction.query<AliasPrice>(
    `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, cache_write_micro, in_force_from,
       recorded_at, recorded_reason)
     select $1, $2, $3, $4, $5, $8, coalesce($6::timestamptz, clock_timestamp()),
       case when $6 < clock_timestamp() then clock_timestamp() end, $9
     where (select count(*) from model_prices where alias = $2 and in_force_from > now()) < $7
     on conflict (alias, in_force_from) do nothing
     returning ${COLUMNS}`,
    [
      ...[id, alias, price.promptMicro, price.cachedMicro, price.completionMicro, from, MOST_TO_COME],
      ...[price.cacheWriteMicro ?? null, reason],
    ],
  );
  return rows[0] ?? null;
}

async function isPast(transaction: Transaction, at: Date): Promise<boolean> {
  const [row] = await transaction.query<{ isPast: boolean }>(
    'select $1::timestamptz < clock_timestamp() as "isPast"',
    [at],
  );
  return row?.isPast === true;
}

type PriceWithdrawn =
  | { readonly outcome: 'changed'; readonly version: AliasPrice }
  | { readonly outcome: 'unknown-alias' | 'wrong-time'; readonly problem: string };

/** Withdraws a price to come. Clocks differ, so calls may have one that takes effect within a minute. */
export async function withdrawPrice(
  parts: Omit<PriceParts, 'secrets'>,
  { alias, from }: { readonly alias: string; readonly from: Date },
): Promise<PriceWithdrawn> {
  return await changeCatalogue(parts, async (transaction): Promise<PriceWithdrawn> => {
    const found = await findAlias(transaction, parts.prefix, alias);
    if (found.outcome === 'unknown-alias') return found;
    const { name } = found.alias;
    const [version] = await transaction.query<AliasPrice>(
      `with withdrawn as (
         delete from model_prices
         where alias = $1 and in_force_from = $2 and in_force_from > clock_timestamp() + interval '1 minute'
         returning *),
       noted as (
         insert into withdrawn_prices (id, alias, prompt_micro, cached_micro, completion_micro, cache_write_micro,
           in_force_from, withdrawn_at)
         select id, alias, prompt_micro, cached_micro, completion_micro, cache_write_micro, in_force_from, now() from withdrawn)
       select ${COLUMNS} from withdrawn`,
      [name, from],
    );
    if (version !== undefined) return { outcome: 'changed', version };
    const problem = (await hasPriceFrom(transaction, name, from))
      ? 'it is in force, or will be within a minute: set another price instead'
      : `${alias} has no price from that very moment: aliases and their prices to come are listed by modelAliases`;
    return { outcome: 'wrong-time', problem };
  });
}

async function hasPriceFrom(transaction: Transaction, alias: AliasName, from: Date): Promise<boolean> {
  const rows = await transaction.query('select 1 from model_prices where alias = $1 and in_force_from = $2', [
    alias,
    from,
  ]);
  return rows.length > 0;
}
