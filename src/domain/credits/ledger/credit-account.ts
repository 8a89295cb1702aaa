import type { Statements, Transaction } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type BillingMode, changeBilling } from '../../accounts/company.ts';

/** The state of an account at one of its versions: of two levels the one with the higher version is newer. */
export interface AccountLevel {
  readonly accountId: string;
  /** May be below zero. */
  readonly balanceMicro: bigint;
  /** How far below zero calls are still admitted: 0 if prepaid, null if unlimited. */
  readonly lineMicro: bigint | null;
  readonly version: bigint;
}

/** The maximum of an account's columns: 64 bits. */
export const MOST_MICRO = 2n ** 63n - 1n;
const MOST_SHARED_MICRO = BigInt(Number.MAX_SAFE_INTEGER);

/** Balance plus credit line, for shared state, whose amounts end at ±(2^53 - 1): nine billion credits. */
export function spendable({ balanceMicro, lineMicro }: AccountLevel): number {
  if (lineMicro === null) return Number(MOST_SHARED_MICRO);
  const whole = balanceMicro + lineMicro;
  if (whole > MOST_SHARED_MICRO) return Number(MOST_SHARED_MICRO);
  return Number(whole < -MOST_SHARED_MICRO ? -MOST_SHARED_MICRO : whole);
}

/** Null if there is no such account. */
export async function readLevel(statements: Statements, accountId: string): Promise<AccountLevel | null> {
  const rows = await statements.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1`,
    [accountId],
  );
  return rows[0] ?? null;
}

export const LEVEL_COLUMNS = `id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version`;

/** A level as shared state stores it. */
export interface SharedLevel {
  readonly name: string;
  readonly value: number;
  readonly version: number;
  readonly ttlMs: number;
}

/** The name of a company's level, stored under the company's id. */
export const BALANCE_LEVEL = 'balance';

/** The name of a user's level, stored under the company's id: one step of shared state is about one company. */
export function userBalanceLevel(userId: string): string {
  return `${BALANCE_LEVEL} ${userId}`;
}

/** Messages with a company's id: its balance, billing mode or invoices have changed. */
export const COMPANIES_TOPIC = 'companies';

/** How long a level is stored, and so the longest that it can be used while the database is unavailable. */
export const LEVEL_KEPT_MS = 10 * 60_000;

export function sharedLevelOf(level: AccountLevel, name: string = BALANCE_LEVEL): SharedLevel {
  return {
    name,
    value: spendable(level),
    version: Number(level.version),
    ttlMs: LEVEL_KEPT_MS,
  };
}

/**
 * Publishes an account's level after a committed posting, so that the next call uses the new balance. Call it only
 * after the commit. It never rejects: if shared state is unavailable the posting is still valid, and counts within
 * seconds, when the level is read again.
 */
export async function publishLevel(sharedState: SharedState, level: AccountLevel, log?: Log): Promise<void> {
  const { accountId } = level;
  try {
    await sharedState.settle(accountId, [{ kind: 'level', ...sharedLevelOf(level) }]);
    await sharedState.publish(COMPANIES_TOPIC, accountId);
  } catch (error) {
    log?.warn('a changed balance could not be published to the gateways; they read it within seconds', {
      accountId,
      error,
    });
  }
}

/**
 * Makes the gateways read a company's billing status again: its budgets or its suspension have changed. Call it after
 * the commit. If the message is lost, they read it within a second.
 */
export async function announceCompany(
  sharedState: Pick<SharedState, 'publish'>,
  companyId: string,
): Promise<void> {
  await sharedState.publish(COMPANIES_TOPIC, companyId);
}

/** An account's balance for display: holds of running calls are not subtracted. */
export interface CompanyBalance {
  readonly companyId: string;
  /** For a user's account; absent for the company's own. */
  readonly userId?: string;
  readonly balanceMicro: bigint;
  readonly updatedAt: Date;
}

/** Null if there is no such account. */
export async function readBalance(statements: Statements, companyId: string): Promise<CompanyBalance | null> {
  const rows = await statements.query<CompanyBalance>(
    `select id as "companyId", balance_micro as "balanceMicro", updated_at as "updatedAt"
     from credit_accounts where id = $1`,
    [companyId],
  );
  return rows[0] ?? null;
}

type ChangedBilling =
  /** The caller publishes the level after its commit. */
  | { readonly outcome: 'changed' | 'unchanged'; readonly level: AccountLevel }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'wrong-limit'; readonly problem: string };

/**
 * Changes how a company pays. A PREPAID company has no credit line, whatever limit is given; the limit of a POSTPAID
 * one is its line, null for unlimited. From the change on its usage is invoiced, or no longer; earlier usage is treated
 * as before, so usage of POSTPAID times is still invoiced at the end of the month.
 *
 * The account is locked before the company, as everywhere.
 */
export async function setCompanyBilling(
  transaction: Transaction,
  companyId: string,
  mode: BillingMode,
  creditLimitMicro: bigint | null,
): Promise<ChangedBilling> {
  const limit = mode === 'PREPAID' ? null : creditLimitMicro;
  if (limit !== null && (limit < 0n || limit > MOST_MICRO)) {
    return { outcome: 'wrong-limit', problem: 'a credit limit is zero or more, or none at all' };
  }
  const [level] = await transaction.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1 and owner = 'COMPANY' for update`,
    [companyId],
  );
  if (level === undefined) return { outcome: 'no-such-company' };
  const hasChanged = await changeBilling(transaction, { companyId, mode, creditLimitMicro: limit });
  if (!hasChanged) return { outcome: 'unchanged', level };
  return {
    outcome: 'changed',
    level: await writeCreditLine(transaction, companyId, mode === 'PREPAID' ? 0n : limit),
  };
}

/** A smaller line may already be used beyond a threshold: that raises alerts as if calls had done it. */
async function writeCreditLine(
  transaction: Transaction,
  companyId: string,
  lineMicro: bigint | null,
): Promise<AccountLevel> {
  const [level] = await transaction.query<AccountLevel>(
    `with changed as (
       update credit_accounts set line_micro = $2, version = version + 1, updated_at = now() where id = $1
       returning ${LEVEL_COLUMNS}, id, 0::bigint as before, balance_micro as after, line_micro as line,
         topped_up_micro as topped_up, topped_up_version, to_char(now() at time zone 'utc', 'YYYY-MM') as month),
     alerts as (
       insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
       ${accountAlerts('changed')}
       on conflict do nothing)
     select "accountId", "balanceMicro", "lineMicro", version from changed`,
    [companyId, lineMicro],
  );
  if (level === undefined) throw new Error('a locked account has disappeared');
  return level;
}

/**
 * The alerts that a change of balances raises, as the select behind an insert into credit_alerts. `changes` names a
 * relation with id, before, after, line, topped_up, topped_up_version and month ('YYYY-MM'), one row per account. The
 * thresholds are in the stored function account_alerts and the company's alert_settings, which the charging of calls
 * uses too.
 */
export function accountAlerts(changes: string): string {
  return `select id, alert.kind, alert.subject, alert.threshold_percent, alert.episode from ${changes},
    account_alerts(id, before, after, line, topped_up, topped_up_version, month) as alert`;
}

export const MICRO_PER_CREDIT = 1_000_000n;

/** Credits as people write them, `-12.5`, in micro-credits. Null for anything else, or with more than 6 decimals. */
export function microOfCredits(text: string): bigint | null {
  const match = /^([+-]?)(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const micro = BigInt(match[2] ?? '0') * MICRO_PER_CREDIT + BigInt((match[3] ?? '').padEnd(6, '0'));
  return match[1] === '-' ? -micro : micro;
}

/** The exact amount without trailing zeros, `-12.5`, as all texts of the product show it. */
export function creditsOfMicro(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const decimals = (size % MICRO_PER_CREDIT).toString().padStart(6, '0').replace(/0+$/, '');
  return `${micro < 0n ? '-' : ''}${size / MICRO_PER_CREDIT}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * Credits as a JSON number. A single division of two whole numbers gives the double nearest to the exact amount, which
 * prints as its decimals; a sum of whole credits and the rest would print 4.963714 as 4.9637139999999995.
 */
export function creditsAsNumber(micro: bigint): number {
  return Number(micro) / Number(MICRO_PER_CREDIT);
}
