import type { Statements, Transaction } from '../../../ports/database.ts';
import { type AccountLevel, accountAlerts, LEVEL_COLUMNS, MOST_MICRO } from './credit-account.ts';
import { type Expiry, type GrantSource, insertLot, takeBack } from './credit-lots.ts';

export type TransactionType =
  | 'PACK_PURCHASE'
  | 'REFUND'
  | 'USAGE'
  | 'SUBSCRIPTION_GRANT'
  | 'INVOICE_PAYMENT'
  | 'ADJUSTMENT'
  | 'EXPIRY';

/** The other side of a transfer. These have no stored balance: it is the sum of their postings. */
type ContraAccount = 'sales' | 'usage' | 'grants' | 'receivables' | 'adjustments' | 'expired';

export interface Posting {
  readonly accountId: string;
  /** USAGE only for what was withheld of a call and is posted later. Calls are charged in groups, by chargeCalls. */
  readonly type: TransactionType;
  /** Added to the account; subtracted if negative. */
  readonly amountMicro: bigint;
  readonly contra: ContraAccount;
  /** Up to 40 characters. */
  readonly sourceKind: string;
  /** Up to 200 characters. The same kind and id are posted only once, on any account. */
  readonly sourceId: string;
  /** Up to 500 characters. */
  readonly reason?: string | null;
  /** Credits that expire (`credit-lots.ts`). */
  readonly expires?: Expiry | null;
  /** The payment for these credits was returned: they are taken from those of this posting first, if it is known. */
  readonly takesBack?: { readonly grant: GrantSource | null };
}

type Posted =
  | { readonly outcome: 'posted'; readonly level: AccountLevel; readonly transactionVersion: bigint }
  /** Nothing was changed; `posted` is the existing posting of this source. */
  | { readonly outcome: 'already-posted'; readonly level: AccountLevel; readonly posted: PostedBefore }
  | { readonly outcome: 'no-account' }
  /** Zero, or a balance that exceeds 64 bits. Nothing was changed. */
  | { readonly outcome: 'wrong-amount'; readonly problem: string };

interface PostedBefore {
  readonly accountId: string;
  readonly amountMicro: bigint;
}

/**
 * A transfer between the account and a contra account, once per source. The account's row stays locked until the
 * caller's transaction ends, so postings on it are serialized; a transaction that posts to several accounts locks them
 * in the order of their ids. Balances may go below zero: nothing is cut off at zero. The caller publishes the level
 * after its commit.
 */
export async function postTransaction(transaction: Transaction, posting: Posting): Promise<Posted> {
  const { accountId, amountMicro } = posting;
  if (amountMicro === 0n) return { outcome: 'wrong-amount', problem: 'an amount of zero changes nothing' };
  const level = await lockAccount(transaction, accountId);
  if (level === null) return { outcome: 'no-account' };
  const before = await findPosted(transaction, posting);
  if (before !== null) return { outcome: 'already-posted', level, posted: before };
  const balanceMicro = level.balanceMicro + amountMicro;
  if (balanceMicro > MOST_MICRO || balanceMicro < -MOST_MICRO || amountMicro < -MOST_MICRO) {
    const problem = `a balance of ${balanceMicro} micro-credits is beyond what an account can hold`;
    return { outcome: 'wrong-amount', problem };
  }
  const after = { ...level, balanceMicro, version: level.version + 1n };
  if (!(await insertTransaction(transaction, posting, after))) {
    // A concurrent transaction posted the same source to another account.
    const posted = await findPosted(transaction, posting);
    if (posted === null) throw new Error('a source is neither free nor posted');
    await restoreSeal(transaction, accountId);
    return { outcome: 'already-posted', level, posted };
  }
  await writeLevel(transaction, level, after);
  const { expires, takesBack } = posting;
  if (expires != null && amountMicro > 0n) await insertLot(transaction, after, { amountMicro, expires });
  if (takesBack !== undefined && amountMicro < 0n) {
    await takeBack(transaction, level, { amountMicro: -amountMicro, ...takesBack });
  }
  return { outcome: 'posted', level: after, transactionVersion: after.version };
}

/** The database has already sealed a row that was then not inserted. */
async function restoreSeal(transaction: Transaction, accountId: string): Promise<void> {
  await transaction.query(
    `update credit_accounts set last_seal = (
       select seal from credit_transactions where account_id = $1 and seal_version is not null
       order by version desc limit 1)
     where id = $1`,
    [accountId],
  );
}

/** Locks until the transaction ends; null if there is no such account. Lock several in the order of their ids. */
export async function lockAccount(transaction: Transaction, accountId: string): Promise<AccountLevel | null> {
  const rows = await transaction.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1 for update`,
    [accountId],
  );
  return rows[0] ?? null;
}

/** After the lock, in a statement of its own, so that it sees what was committed while this one waited. */
async function findPosted(
  transaction: Transaction,
  { sourceKind, sourceId }: Posting,
): Promise<PostedBefore | null> {
  const rows = await transaction.query<PostedBefore>(
    `select account_id as "accountId", amount_micro as "amountMicro" from credit_transactions
     where source_kind = $1 and source_id = $2`,
    [sourceKind, sourceId],
  );
  return rows[0] ?? null;
}

async function insertTransaction(
  transaction: Transaction,
  { accountId, type, amountMicro, contra, sourceKind, sourceId, reason }: Posting,
  after: AccountLevel,
): Promise<boolean> {
  const rows = await transaction.query(
    `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra,
       source_kind, source_id, reason)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (source_kind, source_id) do nothing returning version`,
    [
      accountId,
      after.version,
      type,
      amountMicro,
      after.balanceMicro,
      contra,
      sourceKind,
      sourceId,
      reason ?? null,
    ],
  );
  return rows.length === 1;
}

/** Postings raise alerts for companies only: the line of a user's account is passed as null, which raises none. */
async function writeLevel(
  transaction: Transaction,
  before: AccountLevel,
  after: AccountLevel,
): Promise<void> {
  const isTopUp = after.balanceMicro > before.balanceMicro;
  await transaction.query(
    `with changed as (
       update credit_accounts set balance_micro = $3, version = $4, updated_at = now(),
         topped_up_micro = case when $5 then $3 else topped_up_micro end,
         topped_up_version = case when $5 then $4 else topped_up_version end
       where id = $1
       returning id, $2::bigint as before, balance_micro as after,
         case owner when 'COMPANY' then line_micro end as line, topped_up_micro as topped_up,
         topped_up_version, to_char(now() at time zone 'utc', 'YYYY-MM') as month)
     insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
     ${accountAlerts('changed')}
     on conflict do nothing`,
    [after.accountId, before.balanceMicro, after.balanceMicro, after.version, isTopUp],
  );
}

export interface CreditTransaction {
  readonly accountId: string;
  /** Its position among the account's transactions and changes of the credit line. */
  readonly version: bigint;
  readonly type: TransactionType;
  readonly amountMicro: bigint;
  readonly balanceAfterMicro: bigint;
  readonly contra: ContraAccount;
  readonly sourceKind: string;
  readonly sourceId: string;
  readonly reason: string | null;
  readonly createdAt: Date;
  /** When the credits that it granted expire; null for never. */
  readonly expiresAt: Date | null;
}

interface TransactionPage {
  /** From 1 to 1,000. */
  readonly first: number;
  /** The version of the last transaction of the previous page. */
  readonly after?: bigint | null;
  /** Only these types. */
  readonly types?: readonly TransactionType[] | null;
  /** Lower-case words that the reason must all contain. Usage has no reason. */
  readonly words?: readonly string[];
  /**
   * Greater than `afterVersion`, up to `upToVersion`: what `lastVersionBefore` returns for the two ends of a period.
   */
  readonly afterVersion?: bigint | null;
  readonly upToVersion?: bigint | null;
}

const MOST_TRANSACTIONS_LISTED = 1_000;

/** Newest first. Empty for an account that does not exist. */
export async function listTransactions(
  statements: Statements,
  accountId: string,
  { first, after, types = null, words = [], afterVersion = null, upToVersion = null }: TransactionPage,
): Promise<readonly CreditTransaction[]> {
  // Written as a literal, so that the index without usage is used.
  const isWithoutUsage = words.length > 0 || (types !== null && !types.includes('USAGE'));
  return await statements.query<CreditTransaction>(
    `select account_id as "accountId", version, type, amount_micro as "amountMicro",
       balance_after_micro as "balanceAfterMicro", contra, source_kind as "sourceKind", source_id as "sourceId",
       reason, created_at as "createdAt", expires_at as "expiresAt"
     from credit_transactions
     left join (select account_id, version, expires_at from credit_lots) as lot using (account_id, version)
     where account_id = $1 and version < coalesce($2::bigint, 9223372036854775807)
       and ($4::text[] is null or type = any($4)) ${isWithoutUsage ? "and type <> 'USAGE'" : ''}
       and not exists (select 1 from unnest($5::text[]) as word where position(word in lower(coalesce(reason, ''))) = 0)
       and ($6::bigint is null or version > $6) and ($7::bigint is null or version <= $7)
     order by version desc limit $3`,
    [
      ...[accountId, after ?? null, Math.min(Math.max(Math.trunc(first), 1), MOST_TRANSACTIONS_LISTED)],
      ...[types, words, afterVersion, upToVersion],
    ],
  );
}

/** The posting of a source; null if there is none. */
export async function findTransactionOf(
  statements: Statements,
  { sourceKind, sourceId }: { readonly sourceKind: string; readonly sourceId: string },
): Promise<CreditTransaction | null> {
  const [place] = await statements.query<{ accountId: string; version: bigint }>(
    `select account_id as "accountId", version from credit_transactions where source_kind = $1 and source_id = $2`,
    [sourceKind, sourceId],
  );
  if (place === undefined) return null;
  const [found] = await listTransactions(statements, place.accountId, {
    first: 1,
    after: place.version + 1n,
  });
  return found ?? null;
}
