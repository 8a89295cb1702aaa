import type { QueueDefinition } from '../../ports/job-queue.ts';

/**
 * Postings that wait to be read, each as the id of its job and nothing else. A run may take the reader's 20 s and two
 * calls of a model; a database or a reader that is busy is tried again for about twenty minutes.
 */
export const DOCUMENT_QUEUE: QueueDefinition = {
  name: 'document',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 600,
  heartbeatSeconds: 30,
};
