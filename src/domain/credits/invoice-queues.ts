import type { QueueDefinition } from '../../ports/job-queue.ts';

/** Makes the invoices of finished months; `{ until: 'YYYY-MM' }` leaves the months after that one out. */
export const MONTHLY_INVOICES_QUEUE: QueueDefinition = {
  name: 'monthly-invoices',
  retries: 5,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 3_600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};

/** Every day, so that a month whose run failed is made up for on the next. Past midnight for clocks that differ. */
export const MONTHLY_INVOICES_CRON = '20 0 * * *';

/** `{ invoiceId }`, enqueued with the invoice: whoever sends it to the payment provider or by mail works here. */
export const INVOICE_ISSUED_QUEUE: QueueDefinition = {
  name: 'invoice-issued',
  retries: 40,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 7_200,
  runSeconds: 120,
  heartbeatSeconds: 30,
};
