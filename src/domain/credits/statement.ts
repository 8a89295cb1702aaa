import type { Statements } from '../../ports/database.ts';
import { creditsOfMicro } from './credit-amount.ts';
import type { TransactionType } from './post-transaction.ts';
import { lastVersionBefore } from './statement-range.ts';

/** From `from`, before `to`. */
export interface StatementPeriod {
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
}

const PAGE = 1_000;
const HEADER = 'date,type,credits,balance_after,source,reason';

/**
 * An account's transactions as lines of CSV, without line ends: the names of the columns, the opening balance, every
 * transaction in the order of the books, the closing balance. Amounts are credits as exact decimals. One page is in
 * memory at a time; transactions that are posted meanwhile are of a later version and change nothing. Statements of
 * neighbouring periods fit: the closing balance of one is the opening balance of the next.
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
       source_kind as "sourceKind", source_id as "sourceId", reason, created_at as "createdAt"
     from credit_transactions where account_id = $1 and version > $2 and version <= $3
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
  ].join(',');
}

function balanceLine(type: 'OPENING_BALANCE' | 'CLOSING_BALANCE', at: Date, balanceMicro: bigint): string {
  return [at.toISOString(), type, '', creditsOfMicro(balanceMicro), '', ''].join(',');
}

/**
 * Somebody else's text in a table that may be opened by a spreadsheet: what would be a formula there gets an
 * apostrophe before it, which makes it text. Line breaks become spaces, so that a line stays one transaction.
 */
export function textField(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  const safe = /^\s*[=+\-@|%]/u.test(line) ? `'${line}` : line;
  return /[",;]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
