import type { QueueDefinition } from '../../ports/job-queue.ts';

/** The queue of a scheduled job that removes old rows. If the last retry fails, the next scheduled run does the rest. */
export function retentionQueue(
  name: string,
  { runSeconds = 600, heartbeatSeconds = 60 }: { runSeconds?: number; heartbeatSeconds?: number } = {},
): QueueDefinition {
  return { name, retries: 3, retryDelaySeconds: 60, retryDelayMaxSeconds: 600, runSeconds, heartbeatSeconds };
}
