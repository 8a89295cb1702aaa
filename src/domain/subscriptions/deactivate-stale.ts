import type { Statements } from '../../ports/database.ts';
import { SUBSCRIPTION_COLUMNS, type Subscription } from './subscription.ts';

export interface StaleWanted {
  /** Exactly these, of the provider; null for those that are found to be stale. */
  readonly providerSubscriptionIds: readonly string[] | null;
  /** Nothing is changed; the subscriptions come back as they are. */
  readonly dryRun: boolean;
  readonly now: Date;
}

/** A period that is over by so much, and nobody told of the next: the provider's events go elsewhere, or nowhere. */
const SILENT_MS = 7 * 24 * 60 * 60_000;
/** For one whose period nobody ever told: a month, and the same again. */
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
