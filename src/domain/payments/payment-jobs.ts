import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { type PaymentProvider, PROVIDER_API_VERSION } from '../../ports/payment-provider.ts';
import { archivePrices } from '../catalog/change-offer.ts';
import { INVOICE_ISSUED_QUEUE } from '../credits/invoices/monthly-invoices.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { endGrace } from '../subscriptions/subscription.ts';
import { updateStaleCustomers } from './customer-profile.ts';
import { type DisputeParts, readDisputes } from './disputes.ts';
import { findPaymentEvent, type PaymentEvent } from './event-inbox.ts';
import type { PaymentEvents } from './payment-events.ts';
import { createInvoiceIssuer, mailOverdueInvoices, type PostpaidInvoiceParts } from './postpaid-invoices.ts';
import { type ReconcileParts, reconcile } from './reconcile.ts';

interface PaymentWorkParts extends ReconcileParts, PostpaidInvoiceParts {
  readonly provider: ReconcileParts['provider'] &
    PostpaidInvoiceParts['provider'] &
    DisputeParts['provider'] &
    Pick<PaymentProvider, 'setPriceActive' | 'updateCustomer'>;
  readonly paymentEvents: PaymentEvents;
  readonly pastDueGraceMs: number;
  readonly eventsKeepDays: number;
}

const bounds = { retries: 3, retryDelaySeconds: 30, retryDelayMaxSeconds: 300, heartbeatSeconds: 60 };

/** Events whose retry is due, and those left by a crashed process. */
const PAYMENT_EVENTS_QUEUE: QueueDefinition = { name: 'payment-events', runSeconds: 300, ...bounds };
/** What the provider has and we do not. */
const PAYMENT_RECONCILE_QUEUE: QueueDefinition = {
  name: 'payment-reconcile',
  runSeconds: 900,
  ...bounds,
};
/** Disputes and failed refunds. */
const PAYMENT_DISPUTES_QUEUE: QueueDefinition = { name: 'payment-disputes', runSeconds: 600, ...bounds };
/** Subscriptions whose grace period has ended. */
export const SUBSCRIPTION_GRACE_QUEUE: QueueDefinition = {
  name: 'subscription-grace',
  runSeconds: 120,
  ...bounds,
};

/** Invoices that have become overdue and block their company. */
const OVERDUE_INVOICES_QUEUE: QueueDefinition = { name: 'overdue-invoices', runSeconds: 300, ...bounds };
/** Old events. */
const PAYMENT_RETENTION_QUEUE: QueueDefinition = { name: 'payment-retention', runSeconds: 600, ...bounds };

export const PAYMENT_QUEUES: readonly QueueDefinition[] = [
  PAYMENT_EVENTS_QUEUE,
  PAYMENT_RECONCILE_QUEUE,
  PAYMENT_DISPUTES_QUEUE,
  SUBSCRIPTION_GRACE_QUEUE,
  OVERDUE_INVOICES_QUEUE,
  PAYMENT_RETENTION_QUEUE,
];

/** INVOICE_ISSUED_QUEUE is defined and filled by `credits`, and processed here. */
export function paymentWork(parts: PaymentWorkParts): readonly QueueWork[] {
  const { paymentEvents, database, clock, log, pastDueGraceMs } = parts;
  return [
    {
      queue: PAYMENT_EVENTS_QUEUE,
      concurrency: 1,
      cron: '* * * * *',
      handler: async ({ signal }) => void (await paymentEvents.retryDue(signal)),
    },
    {
      queue: PAYMENT_RECONCILE_QUEUE,
      concurrency: 1,
      cron: '*/10 * * * *',
      handler: async ({ signal }) => {
        await archivePrices(parts);
        await updateStaleCustomers(parts);
        await reconcile(parts, signal);
      },
    },
    {
      queue: PAYMENT_DISPUTES_QUEUE,
      concurrency: 1,
      cron: '*/15 * * * *',
      handler: async ({ signal }) => void (await readDisputes(parts, signal)),
    },
    {
      queue: SUBSCRIPTION_GRACE_QUEUE,
      concurrency: 1,
      cron: '25 * * * *',
      handler: async () => {
        const ended = await endGrace(database, { now: new Date(clock.now()), graceMs: pastDueGraceMs });
        if (ended.length > 0) log.warn('subscriptions are past due for longer than the grace', { ended });
      },
    },
    {
      queue: OVERDUE_INVOICES_QUEUE,
      concurrency: 1,
      cron: '*/5 * * * *',
      handler: async ({ signal }) => void (await mailOverdueInvoices(parts, signal)),
    },
    {
      queue: PAYMENT_RETENTION_QUEUE,
      concurrency: 1,
      cron: '12 4 * * *',
      handler: async ({ signal }) => void (await purgePaymentEvents(parts, signal)),
    },
    { queue: INVOICE_ISSUED_QUEUE, concurrency: 2, handler: createInvoiceIssuer(parts) },
  ];
}

type RequeuedEvent =
  | { readonly outcome: 'requeued'; readonly event: PaymentEvent }
  /** It was applied, or its type or version has no effect. */
  | { readonly outcome: 'nothing-to-do'; readonly event: PaymentEvent }
  | { readonly outcome: 'no-such-event' };

/** Enqueues the retry of an event that is not final, by its id here or by the provider's. */
export async function requeueEvent(
  {
    database,
    jobQueue,
    now,
  }: { readonly database: Database; readonly jobQueue: JobQueue; readonly now: Date },
  name: string,
): Promise<RequeuedEvent> {
  const event = await eventNamed(database, name);
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

/** By its id here or by the provider's. */
async function eventNamed(database: Database, name: string): Promise<PaymentEvent | null> {
  const [row] = await database.query<{ id: string }>(
    'select id from provider_events where id::text = $1 or provider_event_id = $1',
    [name],
  );
  return row === undefined ? null : await findPaymentEvent(database, row.id);
}

type DroppedEvent =
  | { readonly outcome: 'dropped' }
  /** It was applied, has no effect, or was dropped before. */
  | { readonly outcome: 'nothing-to-do'; readonly event: PaymentEvent }
  | { readonly outcome: 'no-such-event' };

const DROPPED = 'dropped: ';

/** Ends an event that an operator has dealt with in another way: it is never applied, also if it is delivered again. */
export async function dropEvent(
  database: Database,
  name: string,
  { reason, now }: { readonly reason: string; readonly now: Date },
): Promise<DroppedEvent> {
  const event = await eventNamed(database, name);
  if (event === null) return { outcome: 'no-such-event' };
  const dropped = await database.query(
    `update provider_events set status = 'IGNORED', waits_for = '{}', next_attempt_at = null, processed_at = $2,
       effect = left($3 || coalesce('; it was ' || status || ': ' || error, ''), 500), error = null
     where id = $1 and status in ('DEFERRED', 'FAILED') returning id`,
    [event.id, now, `${DROPPED}${reason}`],
  );
  return dropped.length > 0 ? { outcome: 'dropped' } : { outcome: 'nothing-to-do', event };
}

interface PurgePaymentEventsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** More than the thirty days for which the provider repeats an event. */
  readonly eventsKeepDays: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Removes old events that are final. Waiting and failed events stay, for an operator to look at. If a removed event
 * arrived again it would change nothing, because every effect recognizes its own fact. One that was dropped has no fact, and
 * reconciliation may find its object for longer: it stays. Returns how many were removed.
 */
export async function purgePaymentEvents(
  { database, clock, log, eventsKeepDays }: PurgePaymentEventsParts,
  signal?: AbortSignal,
): Promise<number> {
  const before = new Date(clock.now() - eventsKeepDays * DAY_MS);
  const { rows: removed } = await changeInChunks(database, { sql: PURGE_EVENTS, values: [before], signal });
  if (removed > 0) log.info('payment events past their age were removed', { removed });
  return removed;
}

const PURGE_EVENTS = `delete from provider_events where id = any (array(
    select id from provider_events where status in ('PROCESSED', 'IGNORED') and received_at < $1
      and not (status = 'IGNORED' and starts_with(coalesce(effect, ''), '${DROPPED}'))
    order by received_at limit ${CHUNK_ROWS} for update skip locked))`;
