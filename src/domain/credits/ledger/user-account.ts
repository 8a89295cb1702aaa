import type { Database, Statements, Transaction } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type AccountLevel, publishLevel, sharedLevelOf, userBalanceLevel } from './credit-account.ts';
import { COMPANY_SIDE, countExpiring, RETURN_PREFIX } from './credit-lots.ts';
import { findTransactionOf, lockAccount, postTransaction } from './ledger.ts';

/**
 * Credit balances of users (decisions/0046). A user's account holds a share of its company's credits: credits get there
 * from the company's account, and return there. So every transfer is two postings, of one amount with opposite signs, in
 * one transaction. Operators may adjust it like a company's.
 */
interface UserAccount {
  readonly userId: string;
  readonly companyId: string;
}

/** The user's side of a transfer. Both sides have the same source id. */
export const USER_SIDE = 'credits-of-user';

/**
 * Opens the account of a user of the company, once; the database opens those of companies. False if there is no such
 * user, or if the account holds credits of another company: an account never changes its company.
 */
export async function openUserAccount(
  transaction: Transaction,
  { userId, companyId }: UserAccount,
): Promise<boolean> {
  await transaction.query(
    `insert into credit_accounts (id, owner, company_id)
     select id, 'USER', company_id from users where id = $1 and company_id = $2 and removed_at is null
     on conflict (id) do nothing`,
    [userId, companyId],
  );
  const [row] = await transaction.query<{ companyId: string }>(
    `select company_id as "companyId" from credit_accounts where id = $1 and owner = 'USER'`,
    [userId],
  );
  return row?.companyId === companyId;
}

export interface UserTransfer extends UserAccount {
  /** To the user; negative amounts return to the company. */
  readonly amountMicro: bigint;
  /** Up to 100 characters. The same key of the same company makes no second transfer. */
  readonly idempotencyKey: string;
  readonly reason: string;
  /** What running calls hold of the giving account. It is not moved. */
  readonly heldMicro: bigint;
}

/** The caller publishes both levels after its commit. */
export interface MovedCredits {
  readonly company: AccountLevel;
  readonly user: AccountLevel;
}

type Transferred =
  | ({ readonly outcome: 'moved' | 'already-moved' } & MovedCredits)
  /** The key was used for another transfer. */
  | { readonly outcome: 'other-transfer' }
  /** `availableMicro`: the giving account's balance, without what calls hold and what expires. */
  | { readonly outcome: 'not-enough'; readonly availableMicro: bigint }
  | { readonly outcome: 'other-company' }
  | { readonly outcome: 'wrong-amount'; readonly problem: string };

/**
 * Moves credits between a company and one of its users, once per idempotency key. It moves only credits that the giving
 * account has: not a credit line, because invoices are for the usage of the company's own account, and not credits that
 * expire, which would outlive their expiry.
 */
export async function transferToUser(transaction: Transaction, params: UserTransfer): Promise<Transferred> {
  const { userId, companyId, amountMicro, heldMicro } = params;
  if (!(await openUserAccount(transaction, params))) return { outcome: 'other-company' };
  const expiringAt = await countExpiring(transaction, companyId);
  const { company, user } = await lockBoth(transaction, params);
  const sourceId = `${companyId}:${params.idempotencyKey}`;
  const before = await findTransactionOf(transaction, { sourceKind: USER_SIDE, sourceId });
  if (before !== null) {
    const isSame = before.accountId === userId && before.amountMicro === amountMicro;
    return isSame ? { outcome: 'already-moved', company, user } : { outcome: 'other-transfer' };
  }
  const givingMicro =
    amountMicro > 0n ? company.balanceMicro - (await expiringAt(company)) : user.balanceMicro;
  const availableMicro = givingMicro > heldMicro ? givingMicro - heldMicro : 0n;
  if ((amountMicro > 0n ? amountMicro : -amountMicro) > availableMicro) {
    return { outcome: 'not-enough', availableMicro };
  }
  const moved = await postBoth(transaction, { ...params, sourceId });
  return 'problem' in moved ? { outcome: 'wrong-amount', ...moved } : { outcome: 'moved', ...moved };
}

/**
 * Returns everything that a user's account holds to its company, including a debt; null if it holds nothing. Call it in
 * the transaction that removes the user, before the removal, because accounts are locked before companies.
 */
export async function returnUserCredits(
  transaction: Transaction,
  account: UserAccount,
): Promise<MovedCredits | null> {
  const [open] = await transaction.query(
    `select 1 from credit_accounts where id = $1 and owner = 'USER' and company_id = $2`,
    [account.userId, account.companyId],
  );
  if (open === undefined) return null;
  const { user } = await lockBoth(transaction, account);
  if (user.balanceMicro === 0n) return null;
  const moved = await postBoth(transaction, {
    ...account,
    amountMicro: -user.balanceMicro,
    sourceId: `${RETURN_PREFIX}${account.userId}:${user.version}`,
    reason: 'The user left the company.',
  });
  if ('problem' in moved) throw new Error(moved.problem);
  return moved;
}

const MOST_RETURNED = 1_000;

/**
 * Returns what the accounts of former members hold: calls that were running when they left are charged afterwards.
 * Returns the number of accounts.
 */
export async function returnCreditsOfFormerUsers({
  database,
  sharedState,
  log,
}: {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly log: Log;
}): Promise<number> {
  const accounts = await database.query<UserAccount>(
    `select account.id as "userId", account.company_id as "companyId"
     from credit_accounts as account
     left join users as person on person.id = account.id and person.removed_at is null
       and person.company_id = account.company_id
     where account.owner = 'USER' and account.balance_micro <> 0 and person.id is null
     order by account.id limit ${MOST_RETURNED}`,
  );
  for (const account of accounts) {
    const moved = await database.transaction((transaction) => returnUserCredits(transaction, account));
    if (moved !== null) await publishMoved(sharedState, moved, log);
  }
  return accounts.length;
}

/** After the commit of a transfer; it never rejects. */
export async function publishMoved(
  sharedState: SharedState,
  { company, user }: MovedCredits,
  log: Log,
): Promise<void> {
  await publishLevel(sharedState, company, log);
  await publishUserLevel(sharedState, company.accountId, user, log);
}

/** After the commit of a posting to a user's account; it never rejects. */
export async function publishUserLevel(
  sharedState: SharedState,
  companyId: string,
  level: AccountLevel,
  log?: Log,
): Promise<void> {
  const name = userBalanceLevel(level.accountId);
  try {
    await sharedState.settle(companyId, [{ kind: 'level', ...sharedLevelOf(level, name) }]);
  } catch (error) {
    log?.warn('a changed balance of a user could not be published; gateways read it within seconds', {
      error,
    });
  }
}

/** The balance of a user's account. Users without an account are left out. */
export interface UserBalance {
  readonly userId: string;
  readonly companyId: string;
  readonly balanceMicro: bigint;
  readonly updatedAt: Date;
}

/** Only accounts that hold credits of this company. */
export async function readUserBalances(
  statements: Statements,
  companyId: string,
  userIds: readonly string[],
): Promise<readonly UserBalance[]> {
  return await statements.query<UserBalance>(
    `select id as "userId", company_id as "companyId", balance_micro as "balanceMicro", updated_at as "updatedAt"
     from credit_accounts where id = any($2::uuid[]) and owner = 'USER' and company_id = $1`,
    [companyId, userIds],
  );
}

/** In the order of their ids, as everywhere. */
async function lockBoth(transaction: Transaction, { userId, companyId }: UserAccount): Promise<MovedCredits> {
  const levels = new Map<string, AccountLevel>();
  for (const id of [userId, companyId].sort()) {
    const level = await lockAccount(transaction, id);
    if (level !== null) levels.set(id, level);
  }
  const [company, user] = [levels.get(companyId), levels.get(userId)];
  if (company === undefined || user === undefined) throw new Error('a credit account is missing');
  return { company, user };
}

interface TransferPosting extends UserAccount {
  readonly amountMicro: bigint;
  readonly sourceId: string;
  readonly reason: string;
}

async function postBoth(
  transaction: Transaction,
  { userId, companyId, amountMicro, sourceId, reason }: TransferPosting,
): Promise<MovedCredits | { readonly problem: string }> {
  const posting = { type: 'ADJUSTMENT', contra: 'adjustments', sourceId, reason } as const;
  const sides = [
    { ...posting, accountId: companyId, amountMicro: -amountMicro, sourceKind: COMPANY_SIDE },
    { ...posting, accountId: userId, amountMicro, sourceKind: USER_SIDE },
  ];
  const levels: AccountLevel[] = [];
  for (const side of sides) {
    const posted = await postTransaction(transaction, side);
    if (posted.outcome === 'wrong-amount') return { problem: posted.problem };
    if (posted.outcome !== 'posted') throw new Error(`a transfer of credits: ${posted.outcome}`);
    levels.push(posted.level);
  }
  const [company, user] = levels;
  if (company === undefined || user === undefined) throw new Error('a transfer has two sides');
  return { company, user };
}
