import type { Statements, Transaction } from '../../../ports/database.ts';
import { findCurrentMembers, listAdmins } from '../../accounts/members.ts';
import { findUserByEmail, type User } from '../../accounts/user.ts';
import { findKeys } from '../../keys/key-lifecycle.ts';
import { nameBudgets } from '../budgets/budgets.ts';

/** What a company is alerted of, as it holds now. */
export interface AlertSettings {
  /** Grows with every save; 0 where nothing was ever set. */
  readonly version: number;
  readonly isOn: boolean;
  /** Highest first. Null: 20, 5 and 0 percent of the balance after the last top-up. */
  readonly balanceThresholdsMicro: readonly bigint[] | null;
  /** Shares of the credit limit, and of the monthly limits of keys; lowest first. */
  readonly limitPercents: readonly number[];
  /** Whether alerts are mailed to the receivers; channels are not affected. */
  readonly isMailed: boolean;
  /** Null: all admins, also where none of the chosen ones is left. */
  readonly receivers: readonly User[] | null;
}

/** Null is the default of each. */
export interface WantedAlerts {
  /** That of the settings which the change was made from. Null saves over whatever is there. */
  readonly version: number | null;
  readonly isOn: boolean;
  readonly isMailed: boolean;
  readonly balanceThresholdsMicro: readonly bigint[] | null;
  readonly limitPercents: readonly number[] | null;
  /** Addresses of the company's people. */
  readonly receivers: readonly string[] | null;
}

type SetAlerts =
  | { readonly outcome: 'set'; readonly settings: AlertSettings }
  /** They were saved by another person since. */
  | { readonly outcome: 'outdated' }
  | {
      readonly outcome: 'refused';
      readonly field: 'balanceThresholds' | 'limitPercents' | 'receivers';
      readonly problem: string;
    };

const MOST_THRESHOLDS = 5;
const MOST_RECEIVERS = 10;
const DEFAULT_LIMIT_PERCENTS = [80, 100];

export async function readAlertSettings(statements: Statements, companyId: string): Promise<AlertSettings> {
  const [own] = await statements.query<StoredSettings>(
    `select is_on as "isOn", balance_thresholds_micro as "balanceThresholdsMicro", limit_percents as "limitPercents",
       receiver_ids as "receiverIds", version, is_mailed as "isMailed"
     from alert_settings where company_id = $1`,
    [companyId],
  );
  const receivers = await findCurrentMembers(statements, companyId, { ids: own?.receiverIds ?? [] });
  return {
    version: own?.version ?? 0,
    isOn: own?.isOn ?? true,
    isMailed: own?.isMailed ?? true,
    balanceThresholdsMicro: own?.balanceThresholdsMicro ?? null,
    limitPercents: own?.limitPercents ?? DEFAULT_LIMIT_PERCENTS,
    receivers: receivers.length === 0 ? null : receivers,
  };
}

/**
 * All of them at once: what is null goes back to its default. They hold for what is charged from the commit on. A
 * threshold alerts when it is passed, so one above today's balance waits for the next top-up; one that has alerted in its
 * episode does not alert again in it, however often it is removed and set again.
 */
export async function setAlertSettings(
  transaction: Transaction,
  companyId: string,
  wanted: WantedAlerts,
  changedAt: Date,
): Promise<SetAlerts> {
  const { isOn, balanceThresholdsMicro, limitPercents, receivers } = wanted;
  const refused = refusalOf(wanted);
  if (refused !== null) return refused;
  const receiverIds: string[] = [];
  for (const [at, address] of (receivers ?? []).entries()) {
    const person = await findUserByEmail(transaction, address);
    if (person?.companyId !== companyId) {
      const problem = `number ${at + 1} is not the address of one of your people; invite them first`;
      return { outcome: 'refused', field: 'receivers', problem };
    }
    if (!receiverIds.includes(person.id)) receiverIds.push(person.id);
  }
  const saved = await transaction.query(
    `insert into alert_settings as present
       (company_id, is_on, balance_thresholds_micro, limit_percents, receiver_ids, changed_at, is_mailed)
     select $1::uuid, $2, $3::bigint[], $4::integer[], $5::uuid[], $6::timestamptz, $7
     where $8::integer is null or $8 = coalesce((select version from alert_settings where company_id = $1), 0)
     on conflict (company_id) do update set is_on = excluded.is_on, limit_percents = excluded.limit_percents,
       balance_thresholds_micro = excluded.balance_thresholds_micro, receiver_ids = excluded.receiver_ids,
       changed_at = excluded.changed_at, is_mailed = excluded.is_mailed, version = present.version + 1
     where $8::integer is null or $8 = present.version
     returning company_id`,
    [
      companyId,
      isOn,
      balanceThresholdsMicro?.toSorted((one, other) => (one < other ? 1 : -1)) ?? null,
      limitPercents?.toSorted((one, other) => one - other) ?? null,
      receivers === null ? null : receiverIds,
      ...[changedAt, wanted.isMailed, wanted.version],
    ],
  );
  if (saved.length === 0) return { outcome: 'outdated' };
  return { outcome: 'set', settings: await readAlertSettings(transaction, companyId) };
}

/** Whom alerts are mailed to now. */
export async function mailReceivers(
  statements: Statements,
  companyId: string,
  { isMailed, receivers }: AlertSettings,
): Promise<readonly { readonly email: string }[]> {
  return isMailed ? (receivers ?? (await listAdmins(statements, companyId))) : [];
}

interface StoredSettings {
  readonly version: number;
  readonly isMailed: boolean;
  readonly isOn: boolean;
  readonly balanceThresholdsMicro: readonly bigint[] | null;
  readonly limitPercents: readonly number[] | null;
  readonly receiverIds: readonly string[] | null;
}

function refusalOf(wanted: WantedAlerts): Extract<SetAlerts, { outcome: 'refused' }> | null {
  const { balanceThresholdsMicro: balances, limitPercents: percents, receivers } = wanted;
  const rules = [
    ['balanceThresholds', countProblem(balances, MOST_THRESHOLDS)],
    ['balanceThresholds', balances?.some((micro) => micro < 0n) && 'a balance threshold is zero or more'],
    ['balanceThresholds', isRepeated(balances) && 'each may be named once'],
    ['limitPercents', countProblem(percents, MOST_THRESHOLDS)],
    ['limitPercents', percents?.some(isNoShare) && 'a share is a whole number of percent, 1 to 100'],
    ['limitPercents', isRepeated(percents) && 'each may be named once'],
    ['receivers', countProblem(receivers, MOST_RECEIVERS)],
  ] as const;
  for (const [field, problem] of rules) {
    if (typeof problem === 'string') return { outcome: 'refused', field, problem };
  }
  return null;
}

function countProblem(list: readonly unknown[] | null, most: number): string | null {
  if (list === null || (list.length >= 1 && list.length <= most)) return null;
  return `1 to ${most} can be set, or null for the default`;
}

const isNoShare = (percent: number) => !Number.isInteger(percent) || percent < 1 || percent > 100;
const isRepeated = (list: readonly unknown[] | null) => list !== null && new Set(list).size < list.length;

export type AlertKind = 'LOW_BALANCE' | 'KEY_SPENDING' | 'CREDIT_LINE' | 'BUDGET';

export interface RaisedAlert {
  readonly kind: AlertKind;
  readonly thresholdPercent: number;
  /** The balance that the company had set itself; null for a share. */
  readonly thresholdMicro: bigint | null;
  /** The key whose spending it is about; null where the company itself is meant. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  /** The budget that it is about, as people name it; null for other alerts, and where it is deleted. */
  readonly budgetOf: string | null;
  readonly raisedAt: Date;
  /** When it was handed on to be mailed; null while it waits. */
  readonly mailedAt: Date | null;
}

const MOST_ALERTS = 100;

/** A company's newest alerts, the newest first. There are a few a month: they need no pages. */
export async function listAlerts(statements: Statements, companyId: string): Promise<readonly RaisedAlert[]> {
  const alerts = await statements.query<StoredAlert>(
    `select kind, subject, threshold_percent as "thresholdPercent", created_at as "raisedAt",
       handed_on_at as "mailedAt"
     from credit_alerts where company_id = $1 order by created_at desc, threshold_percent limit ${MOST_ALERTS}`,
    [companyId],
  );
  const keyIds = alerts.flatMap(({ kind, subject }) => (kind === 'KEY_SPENDING' ? [subject] : []));
  const keys = await findKeys(statements, companyId, [...new Set(keyIds)]);
  const keysById = new Map(keys.map((key) => [key.id, key]));
  const isAboutBudget = alerts.some(({ kind }) => kind === 'BUDGET');
  const budgets = isAboutBudget ? await nameBudgets(statements, companyId) : null;
  return alerts.map(({ subject, ...alert }) => {
    const key = alert.kind === 'KEY_SPENDING' ? keysById.get(subject) : undefined;
    const thresholdMicro = ownBalanceMicro({ kind: alert.kind, subject });
    const budgetOf = alert.kind === 'BUDGET' ? (budgets?.get(subject) ?? null) : null;
    return { ...alert, thresholdMicro, keyId: key?.id ?? null, keyName: key?.name ?? null, budgetOf };
  });
}

interface StoredAlert extends Pick<RaisedAlert, 'kind' | 'thresholdPercent' | 'raisedAt' | 'mailedAt'> {
  /** The key's id or the budget's; of a balance that the company set itself its micro-credits; else empty. */
  readonly subject: string;
}

/** Of a LOW_BALANCE alert: the balance that the company set itself; null for a share of the last top-up. */
export function ownBalanceMicro({ kind, subject }: Pick<StoredAlert, 'kind' | 'subject'>): bigint | null {
  return kind === 'LOW_BALANCE' && subject !== '' ? BigInt(subject) : null;
}
