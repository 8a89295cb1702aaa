import type { Database } from '../../../ports/database.ts';
import { readForLong } from '../audit-check.ts';

/** PostgreSQL gives statements that look at the row before to no worker: the ledger is read in parts, by this many connections. */
const AT_ONCE = 2;
const PARTS = 6;
/** Further than any balance, and sums of two of them fit into a bigint. */
const FAR = '4000000000000000000';
const NO_END = '9223372036854775807';

/** The time is read as double precision, which is exact to less than half a microsecond until the year 2106, and quicker than `extract`. */
const createdOf = (row: string) => `(date_part('epoch', ${row}.created_at) * 1000000)::bigint`;
const entryOf = (row: string) =>
  `ledger_entry_text(${row}.amount_micro, ${createdOf(row)}, ${row}.type, ${row}.contra, ${row}.source_kind, ${row}.source_id, ${row}.reason)`;
/**
 * Of the row before: its seal, or the version of the one that it is sealed with, which is shorter. Nothing before the first row, or
 * where that is from before there were seals.
 */
const SEAL_OR_GROUP = 'case when seal_version = version then seal else int8send(seal_version) end';

/**
 * What `ledger_seal` gives for a transaction `posted` of `account`, in fewer steps for that of a call. `textsend` writes as the client
 * reads, which is UTF-8; where it is not, seals do not fit, and their own check is run.
 */
const SEAL = `case when posted.source_kind = 'call' and posted.type = 'USAGE' and posted.contra = 'usage'
    and octet_length(posted.source_id) = 36 and posted.reason is null
  then sha256(coalesce(seal_before, '') || textsend(account.name || posted.version::text || chr(10) || posted.amount_micro::text || ' '
    || ${createdOf('posted')}::text || ' USAGE usage 4:call 36:' || posted.source_id || chr(10)))
  else ledger_seal(seal_before, posted.account_id, posted.version, ${entryOf('posted')}) end`;

/** A row of the ledger by its place in the order of accounts and versions. */
interface Place {
  readonly accountId: string;
  readonly version: bigint;
}

/**
 * Whether balances, the chain of balances, seals and totals hold, by one pass over the ledger in the order of accounts and versions:
 * - each transaction goes on from the balance before, so the last one of an account has the sum of all, which is the account's balance;
 * - one that is sealed alone has the seal that follows from the transaction before it, which ends a group or is alone too;
 * - those that are sealed together are compared in a second pass, if there are any, a group at a time;
 * - types are those that the totals add up, and so are contra accounts: what all accounts hold is what these gave.
 */
export async function isLedgerSound(database: Database): Promise<boolean> {
  const parts = partsBetween(await readCuts(database));
  const found = await countEach(database, [...parts.map(singles), ACCOUNTS]);
  if (found.some(({ faults }) => faults !== 0n)) return false;
  if (found.every(({ members }) => members === 0n)) return true;
  const groups = await countEach(database, parts.map(sealedTogether));
  return groups.every(({ faults }) => faults === 0n);
}

/** Both sides of each transaction, as the view of them is made. */
const BOTH_SIDES = `SELECT account_id::text AS account, amount_micro, type, source_kind, source_id, created_at
  FROM credit_transactions
  UNION ALL
  SELECT contra AS account, - amount_micro AS amount_micro, type, source_kind, source_id, created_at
  FROM credit_transactions;`;

/** Whether the two sides cancel out by the view's definition. Some versions of PostgreSQL name the table before every column. */
export async function isViewOfBothSidesSound(database: Database): Promise<boolean> {
  const [view] = await database.query<{ definition: string }>(
    `select replace(pg_get_viewdef('credit_entries'::regclass, true), 'credit_transactions.', '') as definition`,
  );
  const inOneLine = (text: string) => text.trim().replaceAll(/\s+/g, ' ');
  return view !== undefined && inOneLine(view.definition) === inOneLine(BOTH_SIDES);
}

interface Counts {
  readonly faults: bigint;
  /** Transactions that are sealed together with a later one. */
  readonly members: bigint;
}

/** Each part is of one moment. What is posted between two of them is checked by the next audit. */
async function countEach(database: Database, statements: readonly string[]): Promise<readonly Counts[]> {
  const found: Counts[] = [];
  const waiting = [...statements];
  const work = async () => {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      const statement = text;
      found.push(...(await readForLong(database, async (inside) => await inside.query<Counts>(statement))));
    }
  };
  const lanes = database.engine === 'postgres' ? Math.min(AT_ONCE, database.pool().size) : 1;
  await Promise.all(Array.from({ length: lanes }, work));
  if (found.length !== statements.length) throw new Error('the ledger could not be read');
  return found;
}

/** Between the parts: transactions that end a group, at about equal distances by the versions of the accounts. */
async function readCuts(database: Database): Promise<readonly Place[]> {
  return await database.query<Place>(
    `with placed as (
       select id, version, sum(version) over (order by id) as upto, sum(version) over () as total from credit_accounts)
     select distinct placed.id as "accountId", coalesce(closing.version, ${NO_END}) as version
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

function within([after, upTo]: Part, from: '>' | '>='): string {
  const compared = (place: Place | null, how: string) =>
    place === null
      ? 'true'
      : `(posted.account_id, posted.version) ${how} ('${place.accountId}'::uuid, ${place.version})`;
  return `${compared(after, from)} and ${compared(upTo, '<=')}`;
}

/** The row before the part is read with it, because the first one of the part goes on from it. */
const singles = (part: Part) => `
  select count(*) filter (where not case
      when account.id is null or posted.version < 1 or posted.seal_version is null and posted.version > seals_from then false
      when balance_after_micro not between -${FAR} and ${FAR} or amount_micro not between -${FAR} and ${FAR} then false
      when balance_after_micro - amount_micro <> coalesce(balance_before, 0) then false
      when type not in ('USAGE', 'PACK_PURCHASE', 'SUBSCRIPTION_GRANT', 'INVOICE_PAYMENT', 'ADJUSTMENT', 'REFUND', 'EXPIRY') then false
      when contra not in ('usage', 'sales', 'grants', 'receivables', 'adjustments', 'expired') then false
      when posted.version <= seals_from then true
      when posted.seal_version <> posted.version then true
      when octet_length(seal_before) = 8 then seal_before = int8send(posted.version)
      else seal is not distinct from ${SEAL} end) as faults,
    count(*) filter (where posted.seal_version <> posted.version and posted.version > seals_from) as members
  from (select posted.*, lag(${SEAL_OR_GROUP}) over own as seal_before, lag(balance_after_micro) over own as balance_before
    from credit_transactions as posted where ${within(part, '>=')}
    window own as (partition by account_id order by version)) as posted
  left join (select id, id::text || ' ' as name, seals_from from credit_accounts offset 0) as account on account.id = account_id
  where ${within(part, '>')}`;

/** All but the last of a group, in their order, with the last and with the one before the group, which ends another. */
const sealedTogether = (part: Part) => `
  select count(*) as faults, 0::bigint as members
  from (select posted.account_id, posted.seal_version, seals_from, min(posted.version) as first, max(posted.version) as last,
      string_agg(${entryOf('posted')}, '' order by posted.version) as entries
    from credit_transactions as posted join credit_accounts as account on account.id = posted.account_id
    where posted.seal_version <> posted.version and posted.version > seals_from and ${within(part, '>')}
    group by posted.account_id, posted.seal_version, seals_from) as members
  left join credit_transactions as closing on closing.account_id = members.account_id and closing.version = members.seal_version
  left join lateral (select version, seal_version, seal from credit_transactions as other
    where other.account_id = members.account_id and other.version < first and other.version > seals_from
    order by other.version desc limit 1) as before on true
  where not coalesce(closing.seal_version = closing.version and last < closing.version
    and (before.version is null or before.version = before.seal_version)
    and closing.seal = ledger_seal(before.seal, members.account_id, closing.version, entries || ${entryOf('closing')}), false)`;

/** What an account notes of its last transaction. */
const ACCOUNTS = `
  select count(*) as faults, 0::bigint as members
  from credit_accounts as account
  left join lateral (select version, balance_after_micro, seal from credit_transactions as posted
    where posted.account_id = account.id order by posted.version desc limit 1) as last on true
  where balance_micro <> coalesce(balance_after_micro, 0) or account.version < last.version
    or case when last.version > seals_from then last.seal end is distinct from last_seal`;
