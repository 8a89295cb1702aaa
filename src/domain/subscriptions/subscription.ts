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
