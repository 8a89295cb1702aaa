import type { Statements } from '../../ports/database.ts';

/**
 * The status of a subscription, as the payment provider reports it: INCOMPLETE → TRIALING or ACTIVE → PAST_DUE →
 * UNPAID, in either direction, with PAUSED in between. CANCELED and INCOMPLETE_EXPIRED are final.
 *
 * A subscription is active while ACTIVE or TRIALING, and while PAST_DUE during the grace period, in which the provider
 * retries the payment. In any other status it is not. A subscription that will end with its period is active until
 * then.
 */
export type SubscriptionStatus =
  | 'INCOMPLETE'
  | 'TRIALING'
  | 'ACTIVE'
  | 'PAST_DUE'
  | 'UNPAID'
  | 'PAUSED'
  | 'CANCELED'
  | 'INCOMPLETE_EXPIRED';

export interface Subscription {
  readonly id: string;
  readonly companyId: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly isActive: boolean;
  readonly providerSubscriptionId: string | null;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly trialEnd: Date | null;
  readonly pastDueSince: Date | null;
  /** When it ended or will end, if known. */
  readonly endDate: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A row of `subscriptions` as a Subscription. */
export const SUBSCRIPTION_COLUMNS = `id, company_id as "companyId", plan_id as "planId", status,
  is_active as "isActive", provider_subscription_id as "providerSubscriptionId",
  current_period_start as "currentPeriodStart", current_period_end as "currentPeriodEnd",
  cancel_at_period_end as "cancelAtPeriodEnd", trial_end as "trialEnd", past_due_since as "pastDueSince",
  end_date as "endDate", created_at as "createdAt", updated_at as "updatedAt"`;

/** An ended status is final. */
export function isEnded(status: SubscriptionStatus): boolean {
  return status === 'CANCELED' || status === 'INCOMPLETE_EXPIRED';
}

/** The newest active subscription; otherwise the newest that has not ended; otherwise the newest. */
export async function currentSubscription(
  statements: Statements,
  companyId: string,
): Promise<Subscription | null> {
  const rows = await statements.query<Subscription>(
    `select ${SUBSCRIPTION_COLUMNS} from subscriptions where company_id = $1
     order by is_active desc, status in ('CANCELED', 'INCOMPLETE_EXPIRED'), created_at desc, id desc limit 1`,
    [companyId],
  );
  return rows[0] ?? null;
}

/** Subscriptions that prevent the purchase of another: all except incomplete and ended ones. */
export async function liveSubscriptions(
  statements: Statements,
  companyId: string,
): Promise<readonly Subscription[]> {
  return await statements.query<Subscription>(
    `select ${SUBSCRIPTION_COLUMNS} from subscriptions
     where company_id = $1 and status in ('TRIALING', 'ACTIVE', 'PAST_DUE', 'UNPAID', 'PAUSED')
     order by created_at, id limit 20`,
    [companyId],
  );
}

export async function findByProviderId(
  statements: Statements,
  providerSubscriptionId: string,
): Promise<Subscription | null> {
  const rows = await statements.query<Subscription>(
    `select ${SUBSCRIPTION_COLUMNS} from subscriptions where provider_subscription_id = $1`,
    [providerSubscriptionId],
  );
  return rows[0] ?? null;
}

/** Another one after each change of the row; times of several processes would not show every change. */
export async function versionOf(statements: Statements, id: string): Promise<string | null> {
  const rows = await statements.query<{ version: string }>(
    'select xmin::text as version from subscriptions where id = $1',
    [id],
  );
  return rows[0]?.version ?? null;
}

/** Null if we have no such subscription. */
export async function versionByProviderId(
  statements: Statements,
  providerSubscriptionId: string,
): Promise<string | null> {
  const rows = await statements.query<{ version: string }>(
    'select xmin::text as version from subscriptions where provider_subscription_id = $1',
    [providerSubscriptionId],
  );
  return rows[0]?.version ?? null;
}

const MOST_AT_ONCE = 1_000;

/** How long a subscription with a past due payment stays active: the provider retries for some days. */
export const PAST_DUE_GRACE_MS = 7 * 24 * 60 * 60_000;

/** Deactivates subscriptions whose payment is past due for longer than the grace period. Returns their ids. */
export async function endGrace(
  statements: Statements,
  { now, graceMs }: { readonly now: Date; readonly graceMs: number },
): Promise<readonly string[]> {
  const rows = await statements.query<{ id: string }>(
    `update subscriptions set is_active = false, updated_at = $1
     where id in (select id from subscriptions where is_active and status = 'PAST_DUE' and past_due_since <= $2
       order by id limit ${MOST_AT_ONCE})
     returning id`,
    [now, new Date(now.getTime() - graceMs)],
  );
  return rows.map(({ id }) => id);
}

interface StaleSubscriptionParams {
  /** The provider's ids of the subscriptions to deactivate; null selects the stale ones. */
  readonly providerSubscriptionIds: readonly string[] | null;
  /** Changes nothing and returns the subscriptions as they are. */
  readonly dryRun: boolean;
  readonly now: Date;
}

/** If a period ended this long ago without a next one, the provider's events do not arrive. */
const SILENT_MS = 7 * 24 * 60 * 60_000;
/** The same for a subscription without a known period, by its last update: a month longer. */
const WITHOUT_PERIOD_MS = 38 * 24 * 60 * 60_000;
export const MOST_STALE = 1_000;

const STALE = `is_active and provider_subscription_id is not null and
  case when $1::text[] is not null then provider_subscription_id = any($1)
    else case when current_period_end is null then updated_at <= $3 else current_period_end <= $2 end end`;

/**
 * Cancels subscriptions that are active here and for which the provider sends no more events; they end now. Given ids
 * match active subscriptions only, so that a second run changes nothing. At most MOST_STALE at once.
 */
export async function deactivateStaleSubscriptions(
  statements: Statements,
  { providerSubscriptionIds, dryRun, now }: StaleSubscriptionParams,
): Promise<readonly Subscription[]> {
  const values = [
    providerSubscriptionIds,
    new Date(now.getTime() - SILENT_MS),
    new Date(now.getTime() - WITHOUT_PERIOD_MS),
  ];
  const found = `select id from subscriptions where ${STALE} order by id limit ${MOST_STALE}`;
  if (dryRun) {
    return await statements.query<Subscription>(
      `select ${SUBSCRIPTION_COLUMNS} from subscriptions where id in (${found}) order by id`,
      values,
    );
  }
  return await statements.query<Subscription>(
    `update subscriptions set status = 'CANCELED', is_active = false, past_due_since = null, end_date = $4, updated_at = $4
     where id in (${found}) and is_active
     returning ${SUBSCRIPTION_COLUMNS}`,
    [...values, now],
  );
}
