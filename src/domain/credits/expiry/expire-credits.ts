import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import type { AlertDispatch } from '../../alerts/dispatch.ts';
import { type AccountLevel, publishLevel } from '../ledger/credit-account.ts';
import { addUpSpent, countLots } from '../ledger/credit-lots.ts';
import { lockAccount, postTransaction } from '../ledger/ledger.ts';
import { type ExpiringLot, type ExpiryOutbox, mailExpiry } from './expiry-mails.ts';

/**
 * When a lot expires, one EXPIRY transaction takes what is left of it. Its source is the lot, so it is posted once
 * however often the job runs, and it never takes the balance below zero. Calls that are running then are charged to the
 * remaining balance, so they may leave a debt of at most what they hold.
 */

/** The source kind of an expired lot's posting; the source id is the account and the version of the grant. */
const EXPIRY_SOURCE = 'credit-lot';
const ACCOUNTS_AT_ONCE = 100;
/** Adding up ten million charges takes seconds. */
const TRANSACTION_MS = 5 * 60_000;
/**
 * Lots of accounts with this many new versions are counted in advance. Fewer versions are added up within milliseconds
 * when needed.
 */
const COUNTED_FROM = 10_000;

interface ExpiryParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * How far the clock of this process may be ahead of the database's. With a wrong clock, credits would expire too
   * early. Undefined: not compared.
   */
  readonly mostAheadMs?: number;
  /** Mails companies about expired credits; undefined sends nothing. */
  readonly mail?: ExpiryOutbox;
  readonly alerts?: AlertDispatch;
}

/**
 * Takes what is left of every lot that has expired. Returns the number of lots. An account that fails does not prevent
 * the others from expiring; the job then fails at its end and is retried.
 */
export async function expireCredits(parts: ExpiryParts, signal?: AbortSignal): Promise<number> {
  const { database, sharedState, clock, log, mail, alerts } = parts;
  const now = new Date(clock.now());
  if (await isAhead(parts, now)) return 0;
  let expired = 0;
  const failures: unknown[] = [];
  for (let after: string | null = null; ; ) {
    const accounts: readonly { readonly accountId: string }[] = await database.query(
      `select distinct account_id as "accountId" from credit_lots
       where expired_at is null and expires_at <= $1 and ($2::uuid is null or account_id > $2)
       order by account_id limit ${ACCOUNTS_AT_ONCE}`,
      [now, after],
    );
    for (const { accountId } of accounts) {
      signal?.throwIfAborted();
      after = accountId;
      try {
        const done = await database.transaction(
          async (transaction) => {
            const account = await expireAccount(transaction, accountId, now);
            const lots = account.taken;
            if (mail !== undefined) {
              const expiry = { companyId: accountId, lots, now };
              await mailExpiry(transaction, { mail, alerts }, 'credits-expired', expiry);
            }
            return account;
          },
          { timeoutMs: TRANSACTION_MS },
        );
        expired += done.lots;
        if (done.level !== null) await publishLevel(sharedState, done.level, log);
      } catch (error) {
        log.error('the credits of an account could not expire; the job is retried', { accountId, error });
        failures.push(error);
      }
    }
    if (accounts.length < ACCOUNTS_AT_ONCE) break;
  }
  if (expired > 0) log.info('credits have expired', { lots: expired });
  if (failures.length > 0) throw new Error(`the credits of ${failures.length} accounts could not expire`);
  return expired;
}

async function isAhead({ database, log, mostAheadMs }: ExpiryParts, now: Date): Promise<boolean> {
  if (mostAheadMs === undefined) return false;
  const [row] = await database.query<{ now: Date }>('select clock_timestamp() as now');
  const aheadMs = row === undefined ? 0 : now.getTime() - row.now.getTime();
  if (aheadMs <= mostAheadMs) return false;
  log.error(
    'the clock of this process is ahead of that of the database: no credits expire until it is right',
    {
      aheadSeconds: Math.round(aheadMs / 1_000),
    },
  );
  return true;
}

async function expireAccount(
  transaction: Transaction,
  accountId: string,
  now: Date,
): Promise<{
  readonly lots: number;
  readonly taken: readonly ExpiringLot[];
  readonly level: AccountLevel | null;
}> {
  // Charges wait for the account's lock, so earlier spending is added up before it, and only the rest under it.
  const spentSoFar = await addUpSpent(transaction, accountId);
  let level = await lockAccount(transaction, accountId);
  if (level === null) throw new Error(`account ${accountId} of a credit lot is missing`);
  const lots = await countLots(transaction, accountId, { spentSoFar, untilVersion: level.version });
  const due = lots.filter(({ expiresAt }) => expiresAt.getTime() <= now.getTime());
  const taken: ExpiringLot[] = [];
  for (const { version, leftMicro, label, expiresAt } of due) {
    const held = level.balanceMicro > 0n ? level.balanceMicro : 0n;
    const takenMicro = leftMicro < held ? leftMicro : held;
    await transaction.query(
      'update credit_lots set expired_at = $3, expired_micro = $4 where account_id = $1 and version = $2',
      [accountId, version, now, takenMicro],
    );
    if (takenMicro === 0n) continue;
    const posted = await postTransaction(transaction, {
      accountId,
      type: 'EXPIRY',
      amountMicro: -takenMicro,
      contra: 'expired',
      sourceKind: EXPIRY_SOURCE,
      sourceId: `${accountId}:${version}`,
      reason: label === null ? 'granted credits have expired' : `expired: ${label}`,
    });
    if (posted.outcome !== 'posted') throw new Error(`lot ${version} of ${accountId}: ${posted.outcome}`);
    level = posted.level;
    taken.push({ version, label, creditsMicro: takenMicro, expiresAt });
  }
  return { lots: due.length, taken, level };
}

/**
 * Updates the lots of accounts with many charges since the last update, so that reading what is left adds up only some
 * minutes of charges. Blocks no charge: only the lots are locked. Returns the number of accounts.
 */
export async function countBusyLots(
  { database, clock }: Pick<ExpiryParts, 'database' | 'clock'>,
  { from = COUNTED_FROM, signal }: { readonly from?: number; readonly signal?: AbortSignal } = {},
): Promise<number> {
  const accounts = await database.query<{ accountId: string }>(
    `select account.id as "accountId"
     from (select account_id, min(counted_version) as counted_version from credit_lots
       where expired_at is null and expires_at > $1 and left_micro > 0 group by account_id) as lot
     join credit_accounts as account on account.id = lot.account_id
     where account.version - lot.counted_version >= $2
     order by account.version - lot.counted_version desc limit ${ACCOUNTS_AT_ONCE}`,
    [new Date(clock.now()), from],
  );
  for (const { accountId } of accounts) {
    signal?.throwIfAborted();
    await database.transaction(
      async (transaction) => {
        const spentSoFar = await addUpSpent(transaction, accountId);
        await transaction.query(
          'select 1 from credit_lots where account_id = $1 and expired_at is null order by version for update',
          [accountId],
        );
        await countLots(transaction, accountId, { spentSoFar, untilVersion: spentSoFar.version });
      },
      { timeoutMs: TRANSACTION_MS },
    );
  }
  return accounts.length;
}

export const EXPIRE_CREDITS_QUEUE: QueueDefinition = {
  name: 'expire-credits',
  retries: 3,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 300,
  runSeconds: 600,
  heartbeatSeconds: 60,
};

export const EXPIRE_CREDITS_CRON = '* * * * *';
