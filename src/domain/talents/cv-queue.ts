import type { QueueDefinition } from '../../ports/job-queue.ts';

/**
 * CVs that wait to be read, each as the id of its talent and nothing else. A run may take the reader's 20 s and two
 * calls of a model; a database or a reader that is busy is tried again for about twenty minutes.
 */
export const CV_QUEUE: QueueDefinition = {
  name: 'cv',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 600,
  heartbeatSeconds: 30,
};
