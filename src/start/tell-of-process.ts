import { hostname } from 'node:os';
import manifest from '../../package.json' with { type: 'json' };
import type { WorkerBoard } from '../ai-service/worker-board.ts';
import type { Breakers } from '../domain/breakers/breakers.ts';
import type { JobRates } from '../domain/processes/job-rates.ts';
import { startProcessBeat } from '../domain/processes/process-beat.ts';
import type { BreakerReport, ReadinessPart, ServiceName } from '../domain/processes/process-report.ts';
import type { DependencyChecks } from '../http/dependency-checks.ts';
import { checksOf } from './open-server.ts';
import type { ServiceOpening } from './start-service.ts';

/** What of a process there is to tell; a process that lacks one of them does not run it. */
export interface ToldParts {
  readonly services: readonly ServiceName[];
  readonly breakers?: Pick<Breakers, 'states' | 'failuresInARow' | 'troubleOf'>;
  readonly workers?: { readonly board: WorkerBoard; readonly names: readonly string[] };
  readonly jobRates?: JobRates;
}

/** From now on this process is among those that operators see, until it closes. */
export function tellOfProcess(
  opening: ServiceOpening,
  { services, breakers, workers, jobRates }: ToldParts,
): void {
  const { clock, log, secrets, database, processFigures: figures } = opening;
  const checks = checksOf(opening);
  const name = {
    ...{ id: secrets.newId(), services, host: hostname(), pid: process.pid, version: manifest.version },
    startedAt: new Date(figures().startedAtMs),
  };
  const beat = startProcessBeat({
    database,
    clock,
    log,
    name,
    async report() {
      const { cpuSeconds, memory, eventLoopDelayMs } = figures();
      const summary = workers?.board.summary();
      return {
        parts: [...(await dependencyParts(checks)), ...(workers === undefined ? [] : workerParts(workers))],
        cpuSeconds,
        residentBytes: memory.residentBytes,
        eventLoopDelayMs: eventLoopDelayMs.p99,
        workers: summary === undefined ? null : { active: summary.active, idle: summary.idle },
        breakers: breakers === undefined ? {} : breakerReports(breakers),
        jobRates: jobRates?.read() ?? {},
      };
    },
  });
  opening.whenClosing('what is told of this process', beat.close);
}

async function dependencyParts(checks: DependencyChecks): Promise<ReadinessPart[]> {
  return Object.entries(await checks()).map(([name, { status, latencyMs }]) => ({ name, status, latencyMs }));
}

function workerParts({ board, names }: NonNullable<ToldParts['workers']>): ReadinessPart[] {
  return names.map((name) => ({ name, status: board.stateOf(name), latencyMs: null }));
}

function breakerReports(breakers: NonNullable<ToldParts['breakers']>): Record<string, BreakerReport> {
  return Object.fromEntries(
    Object.entries(breakers.states()).map(([name, state]) => {
      const { lastError, nextTryAtMs } = breakers.troubleOf(name) ?? { lastError: null, nextTryAtMs: null };
      return [name, { state, failuresInARow: breakers.failuresInARow(name), lastError, nextTryAtMs }];
    }),
  );
}
