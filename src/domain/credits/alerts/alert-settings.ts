import type { Statements, Transaction } from '../../../ports/database.ts';
import { findCurrentMembers, listAdmins } from '../../accounts/members.ts';
import { findUserByEmail, type User } from '../../accounts/user.ts';
import { findKeys } from '../../keys/key-lifecycle.ts';
import { nameBudgets } from '../budgets/budgets.ts';

/** A company's current alert settings. */
export interface AlertSettings {
  /** Incremented by every save; 0 if nothing was ever set. */
  readonly version: number;
  readonly isOn: boolean;
  /** Highest first. Null: 20, 5 and 0 percent of the balance after the last top-up. */
  readonly balanceThresholdsMicro: readonly bigint[] | null;
  /** Percentages of the credit limit and of keys' monthly limits; lowest first. */
  readonly limitPercents: readonly number[];
  /** Whether alerts are mailed to the receivers. Channels are not affected. */
  readonly isMailed: boolean;
  /** Null: all admins, also if none of the chosen users is left. */
  readonly receivers: readonly User[] | null;
}

/** Null selects the default of each. */
export interface AlertSettingsParams {
  /** The version of the settings that were edited. Null overwrites any version. */
  readonly version: number | null;
  readonly isOn: boolean;
  readonly isMailed: boolean;
  readonly balanceThresholdsMicro: readonly bigint[] | null;
  readonly limitPercents: readonly number[] | null;
  /** Email addresses of users of the company. */
  readonly receivers: readonly string[] | null;
}

type SetAlerts =
  | { readonly outcome: 'set'; readonly settings: AlertSettings }
  /** Another user has saved them since. */
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
 * Sets all of them at once; null restores a default. They apply to what is charged after the commit. A threshold raises
 * an alert when it is crossed, so one above the current balance waits for the next top-up. A threshold that has raised
 * an alert in its episode raises no other in it, even if it is removed and set again.
 */
export async function setAlertSettings(
  transaction: Transaction,
  companyId: string,
  params: AlertSettingsParams,
  changedAt: Date,
): Promise<SetAlerts> {
  const { isOn, balanceThresholdsMicro, limitPercents, receivers } = params;
  const refused = refusalOf(params);
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
      ...[changedAt, params.isMailed, params.version],
    ],
  );
  if (saved.length === 0) return { outcome: 'outdated' };
  return { outcome: 'set', settings: await readAlertSettings(transaction, companyId) };
}

/** The users that alerts are mailed to. */
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

function refusalOf(params: AlertSettingsParams): Extract<SetAlerts, { outcome: 'refused' }> | null {
  const { balanceThresholdsMicro: balances, limitPercents: percents, receivers } = params;
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
  /** The balance threshold that the company set; null for a percentage. */
  readonly thresholdMicro: bigint | null;
  /** The key whose spending it is about; null for the company as a whole. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  /** The name of the budget that it is about; null for other alerts, and if the budget was deleted. */
  readonly budgetOf: string | null;
  readonly raisedAt: Date;
  /** When it was queued to be mailed; null until then. */
  readonly mailedAt: Date | null;
}

const MOST_ALERTS = 100;

/** A company's newest alerts, newest first. There are few per month, so they have no pages. */
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
  /** The id of the key or budget; for a balance threshold that the company set, its micro-credits; otherwise empty. */
  readonly subject: string;
}

/** For a LOW_BALANCE alert: the balance threshold that the company set; null for a percentage of the last top-up. */
export function ownBalanceMicro({ kind, subject }: Pick<StoredAlert, 'kind' | 'subject'>): bigint | null {
  return kind === 'LOW_BALANCE' && subject !== '' ? BigInt(subject) : null;
}
