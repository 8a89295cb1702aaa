import type { QueueWorkerStatus } from '../ports/job-queue.ts';

export interface BoardWorker {
  status(): QueueWorkerStatus;
  /** An operator may wish it stopped: then it rests, and that is no fault. */
  readonly mayRest?: boolean;
}

export interface WorkersSummary {
  /** `degraded` where some of them do not work, `unhealthy` where none does. */
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  readonly active: number;
  readonly idle: number;
}

export interface SeenWorker extends QueueWorkerStatus {
  readonly name: string;
  /** It runs, or rests as it was wished. */
  readonly isWell: boolean;
}

/** Which background workers run in this process, for readiness and monitoring: as they are at the moment of asking. */
export interface WorkerBoard {
  add(name: string, worker: BoardWorker): void;
  /** `stopped` for one that is not here. */
  stateOf(name: string): QueueWorkerStatus['state'];
  each(): readonly SeenWorker[];
  summary(): WorkersSummary;
}

export function createWorkerBoard(): WorkerBoard {
  const workers = new Map<string, BoardWorker>();

  function each(): readonly SeenWorker[] {
    return [...workers].map(([name, worker]) => {
      const status = worker.status();
      const isResting = status.state === 'stopped' && worker.mayRest === true;
      return { name, ...status, isWell: status.state === 'running' || isResting };
    });
  }

  return {
    add: (name, worker) => void workers.set(name, worker),
    stateOf: (name) => workers.get(name)?.status().state ?? 'stopped',
    each,
    summary() {
      const seen = each();
      const well = seen.filter(({ isWell }) => isWell).length;
      const sum = (which: 'active' | 'idle') => seen.reduce((total, state) => total + state[which], 0);
      const status = well === 0 ? 'unhealthy' : well < seen.length ? 'degraded' : 'healthy';
      return { status, active: sum('active'), idle: sum('idle') };
    },
  };
}
