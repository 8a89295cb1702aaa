import type { QueueWorker } from '../ports/job-queue.ts';

/** Which background workers run in this process, for readiness and monitoring. */
export interface WorkerBoard {
  add(name: string, worker: QueueWorker): void;
  stateOf(name: string): 'running' | 'stopped';
  summary(): { readonly status: 'healthy'; readonly active: number; readonly idle: number };
}

export function createWorkerBoard(): WorkerBoard {
  const workers = new Map<string, QueueWorker>();
  return {
    add: (name, worker) => void workers.set(name, worker),
    stateOf: (name) => (workers.has(name) ? 'running' : 'stopped'),
    summary() {
      const states = [...workers.values()].map((worker) => worker.status());
      const sum = (which: 'active' | 'idle') => states.reduce((total, state) => total + state[which], 0);
      return { status: 'healthy', active: sum('active'), idle: sum('idle') };
    },
  };
}
