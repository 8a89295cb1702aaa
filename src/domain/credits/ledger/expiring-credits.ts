import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type AccountLevel, publishLevel } from './credit-account.ts';
import { lockAccount, postTransaction } from './ledger.ts';

/**
 * Granted credits that expire are lots: an amount and a moment. Whatever an account spends, or has taken from it, counts
 * against the lot that expires first, so bought credits last longest. When a lot's moment has come, what is left of it
 * is taken by one EXPIRY transaction whose source is the lot: once, however often the job runs, and never below zero,
 * because credits that paid a debt are spent.
 */
interface Lot {
  readonly version: bigint;
  readonly leftMicro: bigint;
  readonly countedVersion: bigint;
  readonly expiresAt: Date;
}

/** The company's side of a transfer to one of its users; `turnpike audit` compares it with the other side. */
export const COMPANY_SIDE = 'credits-to-user';

/** Of the posting that an expired lot makes; its id is the account and the version of the grant. */
const EXPIRY_SOURCE = 'credit-lot';
const ACCOUNTS_AT_ONCE = 100;
/** Ten million charges are added up in some seconds. */
const TRANSACTION_MS = 5 * 60_000;

interface ExpiryParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
}

/** Takes what is left of every lot whose moment has come. Returns how many lots have expired. */
export async function expireCredits(parts: ExpiryParts, signal?: AbortSignal): Promise<number> {
  const { database, sharedState, clock, log } = parts;
  const now = new Date(clock.now());
  let expired = 0;
  for (;;) {
    const accounts = await database.query<{ accountId: string }>(
      `select distinct account_id as "accountId" from credit_lots where expired_at is null and expires_at <= $1
       order by account_id limit ${ACCOUNTS_AT_ONCE}`,
      [now],
    );
    for (const { accountId } of accounts) {
      signal?.throwIfAborted();
      const done = await database.transaction((transaction) => expireAccount(transaction, accountId, now), {
        timeoutMs: TRANSACTION_MS,
      });
      expired += done.lots;
      if (done.level !== null) await publishLevel(sharedState, done.level, log);
    }
    if (accounts.length < ACCOUNTS_AT_ONCE) break;
  }
  if (expired > 0) log.info('granted credits have expired', { lots: expired });
  return expired;
}

async function expireAccount(
  transaction: Transaction,
  accountId: string,
  now: Date,
): Promise<{ readonly lots: number; readonly level: AccountLevel | null }> {
  // Charges wait for the account's lock: what was spent before it is added up first, and only the rest under it.
  const spentSoFar = await addUpSpent(transaction, accountId);
  let level = await lockAccount(transaction, accountId);
  if (level === null) throw new Error(`account ${accountId} of a credit lot is missing`);
  const lots = await countSpent(transaction, accountId, { spentSoFar, untilVersion: level.version });
  const due = lots.filter(({ expiresAt }) => expiresAt.getTime() <= now.getTime());
  for (const { version, leftMicro } of due) {
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
      reason: 'granted credits have expired',
    });
    if (posted.outcome !== 'posted') throw new Error(`lot ${version} of ${accountId}: ${posted.outcome}`);
    level = posted.level;
  }
  return { lots: due.length, level };
}

/**
 * What of an account's balance will expire, at the level that it has under its lock. Call it before the lock is taken: what
 * was spent until then is added up first, and the function that it returns adds only the rest.
 */
export async function countExpiring(
  transaction: Transaction,
  accountId: string,
): Promise<(level: AccountLevel) => Promise<bigint>> {
  const spentSoFar = await addUpSpent(transaction, accountId);
  return async ({ version }) => {
    const lots = await countSpent(transaction, accountId, { spentSoFar, untilVersion: version });
    return lots.reduce((sum, { leftMicro }) => sum + leftMicro, 0n);
  };
}

/** Sums that cannot change any more, by the versions that they lie between. */
type SpentSoFar = { readonly version: bigint; readonly sums: ReadonlyMap<string, bigint> };

async function addUpSpent(transaction: Transaction, accountId: string): Promise<SpentSoFar> {
  const [account] = await transaction.query<{ version: bigint }>(
    'select version from credit_accounts where id = $1',
    [accountId],
  );
  const version = account?.version ?? 0n;
  const sums = new Map<string, bigint>();
  for (const [after, until] of stretches(await openLots(transaction, accountId, version), [version])) {
    sums.set(`${after}:${until}`, await spentBetween(transaction, accountId, after, until));
  }
  return { version, sums };
}

/**
 * Brings the open lots of an account to what is left of them at a version, under the account's lock. Each stretch between
 * two lots is taken from the lots that there were, those that expire first before the others.
 */
async function countSpent(
  transaction: Transaction,
  accountId: string,
  { spentSoFar, untilVersion }: { readonly spentSoFar: SpentSoFar; readonly untilVersion: bigint },
): Promise<readonly Lot[]> {
  const lots = await openLots(transaction, accountId, untilVersion);
  const left = lots.map(({ leftMicro }) => leftMicro);
  for (const [after, until] of stretches(lots, [spentSoFar.version, untilVersion])) {
    const known = spentSoFar.sums.get(`${after}:${until}`);
    let spent = known ?? (await spentBetween(transaction, accountId, after, until));
    for (const [index, { countedVersion }] of lots.entries()) {
      if (countedVersion > after) continue;
      const has = left[index] ?? 0n;
      const taken = spent < has ? spent : has;
      left[index] = has - taken;
      spent -= taken;
    }
  }
  const counted = lots.map((lot, index) => ({ ...lot, leftMicro: left[index] ?? 0n }));
  for (const { version, leftMicro } of counted) {
    await transaction.query(
      `update credit_lots set left_micro = $3, counted_version = $4 where account_id = $1 and version = $2`,
      [accountId, version, leftMicro, untilVersion],
    );
  }
  return counted;
}

/** From each lot's counted version to the next, and at last to the end; none before the first lot. */
function stretches(lots: readonly Lot[], ends: readonly bigint[]): [bigint, bigint][] {
  const starts = lots.map(({ countedVersion }) => countedVersion);
  const first = starts.reduce((least, start) => (start < least ? start : least), starts[0] ?? 0n);
  const marks = [...new Set([...starts, ...ends])]
    .filter((version) => lots.length > 0 && version >= first)
    .sort((one, other) => (one < other ? -1 : 1));
  return marks.slice(1).map((until, at) => [marks[at] ?? 0n, until]);
}

/** Those that expire first come first. */
async function openLots(
  transaction: Transaction,
  accountId: string,
  untilVersion: bigint,
): Promise<readonly Lot[]> {
  return await transaction.query<Lot>(
    `select version, left_micro as "leftMicro", counted_version as "countedVersion", expires_at as "expiresAt"
     from credit_lots where account_id = $1 and expired_at is null and version <= $2
     order by expires_at, version`,
    [accountId, untilVersion],
  );
}

/** Transfers to users are none of it: only credits that do not expire are moved. */
async function spentBetween(
  transaction: Transaction,
  accountId: string,
  afterVersion: bigint,
  untilVersion: bigint,
): Promise<bigint> {
  const [row] = await transaction.query<{ spent: bigint }>(
    `select coalesce(sum(-amount_micro), 0)::bigint as spent from credit_transactions
     where account_id = $1 and version > $2 and version <= $3 and amount_micro < 0 and type <> 'EXPIRY'
       and source_kind <> $4`,
    [accountId, afterVersion, untilVersion, COMPANY_SIDE],
  );
  return row?.spent ?? 0n;
}

/** What the credits belong to ends at another moment than was known: a trial is cut short or extended. */
export async function moveExpiry(
  transaction: Transaction,
  {
    accountId,
    subject,
    expiresAt,
  }: { readonly accountId: string; readonly subject: string; readonly expiresAt: Date },
): Promise<void> {
  await transaction.query(
    `update credit_lots set expires_at = $3
     where account_id = $1 and subject = $2 and expired_at is null and expires_at <> $3`,
    [accountId, subject, expiresAt],
  );
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
