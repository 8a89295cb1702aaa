import type { Database } from '../../../ports/database.ts';
import { readForLong } from '../audit-check.ts';
import {
  AFTER_ALL,
  BEFORE_ALL,
  DIGEST_OF_SPAN,
  type SpanCounts,
  type Spans,
  sealedTogetherIn,
  singlesIn,
} from './ledger-spans.ts';

/**
 * PostgreSQL runs statements that read the previous row without parallel workers, so the ledger is read in parts, by
 * this many connections.
 */
const AT_ONCE = 2;
const PARTS = 6;
/** Digest versions are mostly multiples of a thousand; modulo 7 these are spread evenly. */
const DIGEST_PARTS = 7;

/** The position of a row in the ledger, ordered by account and version. */
interface Place {
  readonly accountId: string;
  readonly version: bigint;
}

/** The transactions whose seals are computed again: all, or those that no digest covers. */
type Extent = 'all' | 'without-digest';

/**
 * Whether balances, the chain of balances, seals and totals are correct. Transactions with a digest are compared with
 * it, the others row by row. If that finds a fault, all are compared row by row.
 */
export async function isLedgerSound(database: Database, extent: Extent = 'without-digest'): Promise<boolean> {
  if (extent === 'all') return await areRowsSound(database, 'all');
  const digests = await countEach(database, [DIGEST_GAPS, ...DIGEST_FAULTS]);
  const areSound = digests.every(({ faults }) => faults === 0n);
  return (
    (areSound && (await areRowsSound(database, 'without-digest'))) || (await areRowsSound(database, 'all'))
  );
}

/**
 * Reads the ledger once, in the order of accounts and versions. Each transaction continues from the previous balance,
 * so the last one of an account has the sum of all, which must be the account's balance. It follows that the balances
 * of all accounts equal what the contra accounts gave. Transactions that are sealed together are compared by group in a
 * second pass, if there are any.
 */
async function areRowsSound(database: Database, extent: Extent): Promise<boolean> {
  const parts = partsBetween(await readCuts(database, extent)).map((part) => spansOf(part, extent));
  const found = await countEach(database, [...parts.map(singlesIn), ACCOUNTS, WITHOUT_ACCOUNT]);
  if (found.some(({ faults }) => faults !== 0n)) return false;
  if (found.every(({ members }) => members === 0n)) return true;
  const groups = await countEach(database, parts.map(sealedTogetherIn));
  return groups.every(({ faults }) => faults === 0n);
}

/** The expected definition of the view `credit_entries`, with both sides of each transaction. */
const BOTH_SIDES = `SELECT account_id::text AS account, amount_micro, type, source_kind, source_id, created_at
  FROM credit_transactions
  UNION ALL
  SELECT contra AS account, - amount_micro AS amount_micro, type, source_kind, source_id, created_at
  FROM credit_transactions;`;

/**
 * Whether the view's definition makes the two sides cancel out. Some versions of PostgreSQL put the table name before
 * every column.
 */
export async function isViewOfBothSidesSound(database: Database): Promise<boolean> {
  const [view] = await database.query<{ definition: string }>(
    `select replace(pg_get_viewdef('credit_entries'::regclass, true), 'credit_transactions.', '') as definition`,
  );
  const inOneLine = (text: string) => text.trim().replaceAll(/\s+/g, ' ');
  return view !== undefined && inOneLine(view.definition) === inOneLine(BOTH_SIDES);
}

/** Each statement reads its own snapshot. Transactions posted in between are checked by the next audit. */
async function countEach(database: Database, statements: readonly string[]): Promise<readonly SpanCounts[]> {
  const found: SpanCounts[] = [];
  const waiting = [...statements];
  const work = async () => {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      const statement = text;
      found.push(
        ...(await readForLong(database, async (inside) => await inside.query<SpanCounts>(statement))),
      );
    }
  };
  const lanes = database.engine === 'postgres' ? Math.min(AT_ONCE, database.pool().size) : 1;
  await Promise.all(Array.from({ length: lanes }, work));
  if (found.length !== statements.length) throw new Error('the ledger could not be read');
  return found;
}

/** The last version of an account that a digest covers. */
const LAST_DIGEST = `left join lateral (select version from ledger_digests
  where account_id = account.id order by after_version desc limit 1) as verified on true`;
const startOf = (extent: Extent) =>
  extent === 'all' ? BEFORE_ALL : `coalesce(verified.version, ${BEFORE_ALL})`;

/** The ends of the parts: transactions that end a group or are sealed alone, at about equal distances by account version. */
async function readCuts(database: Database, extent: Extent): Promise<readonly Place[]> {
  return await database.query<Place>(
    `with placed as (
       select id, version, sum(rows) over (order by id) as upto, sum(rows) over () as total
       from (select account.id, account.version, greatest(account.version - greatest(${startOf(extent)}, 0), 0) as rows
         from credit_accounts as account ${LAST_DIGEST}) as account)
     select distinct placed.id as "accountId", coalesce(closing.version, ${AFTER_ALL}) as version
     from generate_series(1, ${PARTS - 1}) as part
     cross join lateral (select *, ceil(total * part / ${PARTS}) as aim from placed
       where upto >= ceil(total * part / ${PARTS}) order by id limit 1) as placed
     left join lateral (select version from credit_transactions as posted where posted.account_id = placed.id
       and posted.version >= (aim - upto)::bigint + placed.version and seal_version = posted.version
       order by posted.version limit 1) as closing on true
     order by 1, 2`,
  );
}

type Part = readonly [after: Place | null, upTo: Place | null];

function partsBetween(cuts: readonly Place[]): readonly Part[] {
  const ends = [null, ...cuts, null];
  return ends.slice(1).map((upTo, index) => [ends[index] ?? null, upTo] as const);
}

function spansOf([after, upTo]: Part, extent: Extent): Spans {
  const atCut = (place: Place | null, otherwise: string) =>
    place === null
      ? otherwise
      : `case when account.id = '${place.accountId}' then ${place.version} else ${otherwise} end`;
  const isWithin = [
    after === null ? 'true' : `account.id >= '${after.accountId}'`,
    upTo === null ? 'true' : `account.id <= '${upTo.accountId}'`,
  ];
  return `select account.id as account_id, greatest(${startOf(extent)}, ${atCut(after, BEFORE_ALL)}) as after,
      ${atCut(upTo, AFTER_ALL)} as upto
    from credit_accounts as account ${LAST_DIGEST} where ${isWithin.join(' and ')}`;
}

/** Counts digests that do not match their transactions. In parts, because PostgreSQL reads a small table in one process. */
const DIGEST_FAULTS = Array.from(
  { length: DIGEST_PARTS },
  (_, part) => `
  select count(*) as faults, 0::bigint as members
  from (select account_id, after_version as after, version as upto, digest from ledger_digests
    where version % ${DIGEST_PARTS} = ${part}) as span
  where digest is distinct from ${DIGEST_OF_SPAN}`,
);

/** Counts digests that do not begin where the previous one ends. */
const DIGEST_GAPS = `
  select count(*) as faults, 0::bigint as members
  from (select after_version, lag(version) over (partition by account_id order by after_version) as before from ledger_digests) as chained
  where after_version <> coalesce(before, ${BEFORE_ALL})`;

/** Counts accounts whose balance, version or last seal does not match their last transaction. */
const ACCOUNTS = `
  select count(*) as faults, 0::bigint as members
  from credit_accounts as account
  left join lateral (select version, balance_after_micro, seal from credit_transactions as posted
    where posted.account_id = account.id order by posted.version desc limit 1) as last on true
  where balance_micro <> coalesce(balance_after_micro, 0) or account.version < last.version
    or case when last.version > seals_from then last.seal end is distinct from last_seal`;

/** Counts the account ids of transactions that have no account, with one lookup for each account id. */
const WITHOUT_ACCOUNT = `
  with recursive posted as (
    (select account_id from credit_transactions order by account_id limit 1)
    union all
    select (select account_id from credit_transactions as next where next.account_id > posted.account_id order by account_id limit 1)
    from posted where account_id is not null)
  select count(*) as faults, 0::bigint as members from posted
  where account_id is not null and not exists (select 1 from credit_accounts where id = account_id)`;
