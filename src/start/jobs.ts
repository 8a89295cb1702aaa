import { openJobQueue } from '../adapters/job-queue/pg-boss.ts';
import { createWorkerBoard, type WorkerBoard } from '../ai-service/worker-board.ts';
import type { JobQueue, QueueDefinition } from '../ports/job-queue.ts';
import type { Opening } from './start-service.ts';

export interface Jobs {
  readonly queue: JobQueue;
  /** This process takes jobs from now on. */
  startWorkers(): Promise<WorkerBoard>;
}

/** Every queue there is. A process that only enqueues or looks knows them too. */
const QUEUES: readonly QueueDefinition[] = [];

export async function openJobs({ database, log, configuration, whenClosing }: Opening): Promise<Jobs> {
  const queue = await openJobQueue({ database, log });
  whenClosing('job queue', () => queue.stop(configuration.shutdownTimeoutMs));
  for (const definition of QUEUES) await queue.define(definition);
  return {
    queue,
    async startWorkers() {
      return createWorkerBoard();
    },
  };
}
