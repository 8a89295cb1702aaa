import type { QueueDefinition } from '../../ports/job-queue.ts';

/**
 * Meetings of which something has changed, each as its id and nothing else. A run may take one call of a model; a
 * database that is away is tried again for about half an hour.
 */
export const MEETING_QUEUE: QueueDefinition = {
  name: 'meeting',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 300,
  heartbeatSeconds: 30,
};

export const MEETING_UPKEEP_QUEUE: QueueDefinition = {
  name: 'meeting-upkeep',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 120,
  heartbeatSeconds: 30,
};

/** A meeting whose end was lost is closed up to this much late. */
export const MEETING_UPKEEP_CRON = '*/10 * * * *';
