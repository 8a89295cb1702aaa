import type { Statements, Transaction } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type BillingMode, changeBilling } from '../../accounts/company.ts';

/** What an account holds, at one of its versions: of two levels the one with the higher version is newer. */
export interface AccountLevel {
  readonly accountId: string;
  /** May be below zero. */
  readonly balanceMicro: bigint;
  /** How far below zero calls are still admitted: 0 where prepaid, null for no end. */
  readonly lineMicro: bigint | null;
  readonly version: bigint;
}

/** The most that a column of an account holds: 64 bits. */
export const MOST_MICRO = 2n ** 63n - 1n;
const MOST_SHARED_MICRO = BigInt(Number.MAX_SAFE_INTEGER);

/** Balance and line together, for shared state, whose amounts end at ±(2^53 - 1): nine billion credits. */
export function spendable({ balanceMicro, lineMicro }: AccountLevel): number {
  if (lineMicro === null) return Number(MOST_SHARED_MICRO);
  const whole = balanceMicro + lineMicro;
  if (whole > MOST_SHARED_MICRO) return Number(MOST_SHARED_MICRO);
  return Number(whole < -MOST_SHARED_MICRO ? -MOST_SHARED_MICRO : whole);
}

/** Null where there is no such account. */
export async function readLevel(statements: Statements, accountId: string): Promise<AccountLevel | null> {
  const rows = await statements.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1`,
    [accountId],
  );
  return rows[0] ?? null;
}

export const LEVEL_COLUMNS = `id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version`;

/** A level as shared state keeps it. */
export interface SharedLevel {
  readonly name: string;
  readonly value: number;
  readonly version: number;
  readonly ttlMs: number;
}

/** Of a company's level, under the company's id. */
export const BALANCE_LEVEL = 'balance';

/** Of a user's level, under the id of the company: one step of shared state is about one company. */
export function userBalanceLevel(userId: string): string {
  return `${BALANCE_LEVEL} ${userId}`;
}

/** With a company's id: its balance, its billing or its invoices have changed. */
export const COMPANIES_TOPIC = 'companies';

/** How long a level is kept, and so the longest that it can serve while the database is unavailable. */
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
 * Tells every process what a committed posting has made of an account: the first call after it goes by the new
 * balance. Only for after the commit, and it never rejects: where shared state is unavailable the posting stands all the
 * same, and counts as soon as the level is read again, which takes seconds.
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

/** What an account holds, for people to see: holds of calls in flight are not taken off. */
export interface CompanyBalance {
  readonly companyId: string;
  /** Of a user's account; absent for the company's own. */
  readonly userId?: string;
  readonly balanceMicro: bigint;
  readonly updatedAt: Date;
}

/** Null where there is no such account. */
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
 * Changes how a company pays. A PREPAID one has no credit line, whatever limit is given; the limit of a POSTPAID one
 * is its line, null for no end. From the change on its usage is invoiced, or no longer; what it used before is
 * treated as before, so usage of POSTPAID times is still invoiced at the end of the month.
 *
 * The account is locked before the company, as by everyone who locks both.
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

/** A smaller line may be used up by more than a threshold already: that is said as if calls had done it. */
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
 * relation with id, before, after, line, topped_up, topped_up_version and month ('YYYY-MM'), one row an account. The
 * thresholds stand in the database's function account_alerts, with the company's alert_settings: the charging of calls
 * passes them too.
 */
export function accountAlerts(changes: string): string {
  return `select id, alert.kind, alert.subject, alert.threshold_percent, alert.episode from ${changes},
    account_alerts(id, before, after, line, topped_up, topped_up_version, month) as alert`;
}

export const MICRO_PER_CREDIT = 1_000_000n;

/** Credits as a person writes them, `-12.5`, in micro-credits. Null for what is none, or has more than 6 decimals. */
export function microOfCredits(text: string): bigint | null {
  const match = /^([+-]?)(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const micro = BigInt(match[2] ?? '0') * MICRO_PER_CREDIT + BigInt((match[3] ?? '').padEnd(6, '0'));
  return match[1] === '-' ? -micro : micro;
}

/** The exact amount without trailing zeros, `-12.5`: what every text of the product shows. */
export function creditsOfMicro(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const decimals = (size % MICRO_PER_CREDIT).toString().padStart(6, '0').replace(/0+$/, '');
  return `${micro < 0n ? '-' : ''}${size / MICRO_PER_CREDIT}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * Credits as a JSON number. One division of two whole numbers gives the double nearest to the exact amount, which prints
 * as its decimals; a sum of whole credits and the rest would print 4.963714 as 4.9637139999999995.
 */
export function creditsAsNumber(micro: bigint): number {
  return Number(micro) / Number(MICRO_PER_CREDIT);
}
