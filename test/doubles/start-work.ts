import type { JobQueue, QueueWork, QueueWorker } from '../../src/ports/job-queue.ts';

/** Processes the jobs of these queues, which are defined, without their schedules. */
export async function startWork(jobQueue: JobQueue, work: readonly QueueWork[]): Promise<QueueWorker[]> {
  const workers: QueueWorker[] = [];
  for (const { queue, concurrency, handler } of work) {
    workers.push(await jobQueue.work(queue.name, { concurrency }, handler));
  }
  return workers;
}
