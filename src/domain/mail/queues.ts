import type { QueueDefinition } from '../../ports/job-queue.ts';

/** What one try may take at most: the adapter that sends is given this, and cuts the line past it. */
export const SEND_WITHIN_MS = 180_000;
/**
 * How long a worker has a mail to itself. Longer than a try, so that nobody begins a second one beside it, even if
 * the queue has taken the job for lost.
 */
export const CLAIM_MS = SEND_WITHIN_MS + 60_000;

/** A server that is away is tried for about three days: 30 s, 1 min, 2 min … up to every two hours. */
export const MAIL_QUEUE: QueueDefinition = {
  name: 'mail',
  retries: 40,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 7_200,
  runSeconds: 300,
  heartbeatSeconds: 30,
};

export const MAIL_UPKEEP_QUEUE: QueueDefinition = {
  name: 'mail-upkeep',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 120,
  heartbeatSeconds: 30,
};

/** Every quarter of an hour: a link that has expired is not kept for much longer than that. */
export const MAIL_UPKEEP_CRON = '*/15 * * * *';
