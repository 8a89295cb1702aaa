import type { Statements } from '../../../ports/database.ts';
import { creditsOfMicro } from './credit-account.ts';
import type { TransactionType } from './ledger.ts';

/** From `from`, before `to`. */
interface StatementPeriod {
  readonly accountId: string;
  readonly from: Date;
  readonly to: Date;
}

interface StatementRow {
  readonly version: bigint;
  readonly type: TransactionType;
  readonly amountMicro: bigint;
  readonly balanceAfterMicro: bigint;
  readonly sourceKind: string;
  readonly sourceId: string;
  readonly reason: string | null;
  readonly createdAt: Date;
  /** Of the lot that it granted. */
  readonly expiresAt: Date | null;
}

const PAGE = 1_000;
const HEADER = 'date,type,credits,balance_after,source,reason,expires_at';

/**
 * An account's transactions as CSV lines, without line ends: column names, opening balance, every transaction in order
 * of version, closing balance. A transaction that granted expiring credits has their expiry time; their EXPIRY has that
 * transaction's lot as its source. Amounts are credits as exact decimals. One page is in memory at a time; transactions
 * posted in the meantime have a later version and change nothing. The closing balance of one period is the opening
 * balance of the next.
 */
export async function* statementLines(
  statements: Statements,
  { accountId, from, to }: StatementPeriod,
): AsyncGenerator<string, void, undefined> {
  const before = await lastVersionBefore(statements, accountId, from);
  const last = await lastVersionBefore(statements, accountId, to);
  let balanceMicro = await balanceAt(statements, accountId, before);
  yield HEADER;
  yield balanceLine('OPENING_BALANCE', from, balanceMicro);
  for (let after = before; after < last; ) {
    const rows = await readPage(statements, accountId, after, last);
    for (const row of rows) yield lineOf(row);
    const end = rows.at(-1);
    if (end === undefined) break;
    balanceMicro = end.balanceAfterMicro;
    after = end.version;
  }
  yield balanceLine('CLOSING_BALANCE', to, balanceMicro);
}

async function balanceAt(statements: Statements, accountId: string, version: bigint): Promise<bigint> {
  const [row] = await statements.query<{ balanceMicro: bigint }>(
    `select balance_after_micro as "balanceMicro" from credit_transactions where account_id = $1 and version = $2`,
    [accountId, version],
  );
  return row?.balanceMicro ?? 0n;
}

async function readPage(
  statements: Statements,
  accountId: string,
  after: bigint,
  last: bigint,
): Promise<readonly StatementRow[]> {
  return await statements.query<StatementRow>(
    `select version, type, amount_micro as "amountMicro", balance_after_micro as "balanceAfterMicro",
       source_kind as "sourceKind", source_id as "sourceId", reason, created_at as "createdAt",
       expires_at as "expiresAt"
     from credit_transactions
     left join (select account_id, version, expires_at from credit_lots) as lot using (account_id, version)
     where account_id = $1 and version > $2 and version <= $3
     order by version limit ${PAGE}`,
    [accountId, after, last],
  );
}

function lineOf(row: StatementRow): string {
  return [
    row.createdAt.toISOString(),
    row.type,
    creditsOfMicro(row.amountMicro),
    creditsOfMicro(row.balanceAfterMicro),
    textField(`${row.sourceKind}:${row.sourceId}`),
    textField(row.reason ?? ''),
    row.expiresAt?.toISOString() ?? '',
  ].join(',');
}

function balanceLine(type: 'OPENING_BALANCE' | 'CLOSING_BALANCE', at: Date, balanceMicro: bigint): string {
  return [at.toISOString(), type, '', creditsOfMicro(balanceMicro), '', '', ''].join(',');
}

/**
 * Text from outside in a table that may be opened in a spreadsheet: a formula gets an apostrophe in front, which makes
 * it text. Line breaks become spaces, so that each transaction is one line.
 */
export function textField(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  const safe = /^\s*[=+\-@|%]/u.test(line) ? `'${line}` : line;
  return /[",;]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Versions are assigned under the account's lock, so if a version exists all lower ones do: a range of versions never
 * changes again. Times are those at which a transaction began; it may have waited for the lock, so they are ordered
 * only up to that wait. So periods are cut by version: up to the last one that began before the period's end. Adjacent
 * periods then share no transaction and miss none.
 *
 * There is no index by time, because every charge would pay for it. The end is found by bisecting the versions, and
 * then searching backwards through at most this much time, which is longer than any statement may wait.
 */
const LONGEST_WAIT = "interval '1 hour'";

/** The highest version of a transaction of the account that began before `at`; 0 if there is none. */
export async function lastVersionBefore(
  statements: Statements,
  accountId: string,
  at: Date,
): Promise<bigint> {
  const [row] = await statements.query<{ version: bigint }>(
    `with recursive search (low, high) as (
       select 0::bigint, version + 1 from credit_accounts where id = $1
       union all
       select case when probe.is_before then middle + 1 else low end,
         case when probe.is_before then high else middle end
       from (select low, high, (low + high) / 2 as middle from search where low < high) as halved
       cross join lateral (
         select coalesce((
           select created_at < $2::timestamptz + ${LONGEST_WAIT} from credit_transactions
           where account_id = $1 and version >= middle order by version limit 1), false) as is_before) as probe)
     select coalesce((
       select version from credit_transactions
       where account_id = $1 and version <= (select max(low) from search) and created_at < $2::timestamptz
       order by version desc limit 1), 0)::bigint as version`,
    [accountId, at],
  );
  return row?.version ?? 0n;
}
