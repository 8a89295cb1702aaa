import type { JobHandler, QueueDefinition } from '../../ports/job-queue.ts';
import { INVOICE_ISSUED_QUEUE } from '../credits/invoice-queues.ts';
import { endGrace } from '../subscriptions/end-grace.ts';
import { forgetEvents } from './forget-events.ts';
import { createInvoiceIssuer, type IssueInvoiceParts } from './issue-invoice.ts';
import type { PaymentEvents } from './payment-events.ts';
import { type ReconcileParts, reconcile } from './reconcile.ts';

export interface PaymentWorkParts extends ReconcileParts, IssueInvoiceParts {
  readonly provider: ReconcileParts['provider'] & IssueInvoiceParts['provider'];
  readonly paymentEvents: PaymentEvents;
  readonly pastDueGraceMs: number;
  readonly eventsKeepDays: number;
}

/** A queue with what is done there; with `cron`, by the clock. */
export interface PaymentWork {
  readonly queue: QueueDefinition;
  readonly concurrency: number;
  readonly cron?: string;
  readonly handler: JobHandler;
}

const bounds = { retries: 3, retryDelaySeconds: 30, retryDelayMaxSeconds: 300, heartbeatSeconds: 60 };

/** Events that wait, and those that a dead process left. */
export const PAYMENT_EVENTS_QUEUE: QueueDefinition = { name: 'payment-events', runSeconds: 300, ...bounds };
/** What the provider knows and we do not. */
export const PAYMENT_RECONCILE_QUEUE: QueueDefinition = {
  name: 'payment-reconcile',
  runSeconds: 900,
  ...bounds,
};
/** Subscriptions whose grace is over. */
export const SUBSCRIPTION_UPKEEP_QUEUE: QueueDefinition = {
  name: 'subscription-upkeep',
  runSeconds: 120,
  ...bounds,
};

/** Events past their age. */
export const PAYMENT_UPKEEP_QUEUE: QueueDefinition = { name: 'payment-upkeep', runSeconds: 600, ...bounds };

export const PAYMENT_QUEUES: readonly QueueDefinition[] = [
  PAYMENT_EVENTS_QUEUE,
  PAYMENT_RECONCILE_QUEUE,
  SUBSCRIPTION_UPKEEP_QUEUE,
  PAYMENT_UPKEEP_QUEUE,
];

/** INVOICE_ISSUED_QUEUE is defined by `credits`, which fills it, and worked off here. */
export function paymentWork(parts: PaymentWorkParts): readonly PaymentWork[] {
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
      handler: async ({ signal }) => void (await reconcile(parts, signal)),
    },
    {
      queue: SUBSCRIPTION_UPKEEP_QUEUE,
      concurrency: 1,
      cron: '25 * * * *',
      handler: async () => {
        const ended = await endGrace(database, { now: new Date(clock.now()), graceMs: pastDueGraceMs });
        if (ended.length > 0) log.warn('subscriptions are past due for longer than the grace', { ended });
      },
    },
    {
      queue: PAYMENT_UPKEEP_QUEUE,
      concurrency: 1,
      cron: '12 4 * * *',
      handler: async ({ signal }) => void (await forgetEvents(parts, signal)),
    },
    { queue: INVOICE_ISSUED_QUEUE, concurrency: 2, handler: createInvoiceIssuer(parts) },
  ];
}
