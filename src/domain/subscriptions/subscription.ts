import type { Statements } from '../../ports/database.ts';

/**
 * The life of a subscription, as the payment provider tells it: INCOMPLETE → TRIALING or ACTIVE → PAST_DUE → UNPAID,
 * back and forth, PAUSED in between; CANCELED and INCOMPLETE_EXPIRED are ends, which nothing leaves.
 *
 * ACTIVE and TRIALING are active. PAST_DUE stays so for the days of grace, while the provider tries again; the rest
 * are not. A subscription that will end with its period is active until then.
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
  /** When it ended, or will, if that is known. */
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

/** Nothing follows. */
export function isEnded(status: SubscriptionStatus): boolean {
  return status === 'CANCELED' || status === 'INCOMPLETE_EXPIRED';
}

/** The one that counts: the newest of those that have not ended, else the one that ended last. */
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

/** Those under which a second one must not be bought: what is begun, runs, or waits for a payment. */
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

const MOST_AT_ONCE = 1_000;

/** How long a subscription whose payment is past due stays active: the provider retries for some days. */
export const PAST_DUE_GRACE_MS = 7 * 24 * 60 * 60_000;

/** Those whose payment is overdue for longer than the days of grace are active no more. Returns their ids. */
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

interface StaleWanted {
  /** Exactly these, of the provider; null for those that are found to be stale. */
  readonly providerSubscriptionIds: readonly string[] | null;
  /** Nothing is changed; the subscriptions come back as they are. */
  readonly dryRun: boolean;
  readonly now: Date;
}

/** A period that ended this long ago without a next one: the provider's events do not arrive. */
const SILENT_MS = 7 * 24 * 60 * 60_000;
/** The same for a subscription without a known period: a month more. */
const WITHOUT_PERIOD_MS = 38 * 24 * 60 * 60_000;
export const MOST_STALE = 1_000;

const STALE = `is_active and provider_subscription_id is not null and
  case when $1::text[] is not null then provider_subscription_id = any($1)
    else case when current_period_end is null then updated_at <= $3 else current_period_end <= $2 end end`;

/**
 * Subscriptions that are active here and of which the provider tells nothing any more: CANCELED, ended now. By ids
 * only those that are active, so that a second run changes nothing; at most MOST_STALE at once.
 */
export async function deactivateStaleSubscriptions(
  statements: Statements,
  { providerSubscriptionIds, dryRun, now }: StaleWanted,
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
