import type { Database } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import { PROVIDER_API_VERSION } from './apply-event.ts';
import { findPaymentEvent, type PaymentEvent } from './payment-event.ts';
import { PAYMENT_EVENTS_QUEUE } from './payment-work.ts';

export type RequeuedEvent =
  | { readonly outcome: 'requeued'; readonly event: PaymentEvent }
  /** Its effect stands, or there is none for its kind or version. */
  | { readonly outcome: 'nothing-to-do'; readonly event: PaymentEvent }
  | { readonly outcome: 'no-such-event' };

/** Has the workers try an event again that is not done with: by its id here, or by the provider's. */
export async function requeueEvent(
  {
    database,
    jobQueue,
    now,
  }: { readonly database: Database; readonly jobQueue: JobQueue; readonly now: Date },
  name: string,
): Promise<RequeuedEvent> {
  const [row] = await database.query<{ id: string }>(
    'select id from provider_events where id::text = $1 or provider_event_id = $1',
    [name],
  );
  const event = row === undefined ? null : await findPaymentEvent(database, row.id);
  if (event === null) return { outcome: 'no-such-event' };
  const changed = await database.query(
    `update provider_events set status = 'RECEIVED', next_attempt_at = $2, attempts = 0
     where id = $1 and status in ('RECEIVED', 'DEFERRED', 'FAILED')
       and (api_version is null or api_version = $3)
     returning id`,
    [event.id, now, PROVIDER_API_VERSION],
  );
  if (changed.length === 0) return { outcome: 'nothing-to-do', event };
  await jobQueue.enqueue(PAYMENT_EVENTS_QUEUE.name, {}, { dedupeKey: 'now' });
  return { outcome: 'requeued', event };
}
