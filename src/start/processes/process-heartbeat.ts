import { hostname } from 'node:os';
import manifest from '../../../package.json' with { type: 'json' };
import type { WorkerRegistry } from '../../ai-service/health.ts';
import { serviceOf } from '../../domain/breakers/breaker.ts';
import type { Breakers } from '../../domain/breakers/breakers.ts';
import type { CoolingTarget, ModelDirectory } from '../../domain/models/model-directory.ts';
import type { JobRates } from '../../domain/processes/job-rates.ts';
import {
  type BreakerReport,
  type MachineReport,
  type ReadinessPart,
  type ServiceName,
  startProcessHeartbeat,
} from '../../domain/processes/service-processes.ts';
import type { DependencyChecks } from '../../http/health.ts';
import type { HostFigures } from '../../ports/process-figures.ts';
import { checksOf } from '../wiring/open-server.ts';
import type { ServiceOpening } from './start-service.ts';

/** The parts of a process to report; a missing one does not run in this process. */
interface HeartbeatParts {
  readonly services: readonly ServiceName[];
  readonly breakers?: Pick<Breakers, 'states' | 'failuresInARow' | 'troubleOf'>;
  readonly models?: Pick<ModelDirectory, 'cooling'>;
  readonly workers?: { readonly registry: WorkerRegistry; readonly names: readonly string[] };
  readonly jobRates?: JobRates;
}

/** Lists this process among those shown to operators, until it closes. */
export function reportProcess(
  opening: ServiceOpening,
  { services, breakers, models, workers, jobRates }: HeartbeatParts,
): void {
  const { databaseClock, log, secrets, database, processFigures: figures, hostFigures } = opening;
  const checks = checksOf(opening);
  const name = {
    ...{ id: secrets.newId(), services, host: hostname(), pid: process.pid, version: manifest.version },
    startedAt: new Date(figures().startedAtMs),
  };
  const heartbeat = startProcessHeartbeat({
    database,
    clock: databaseClock,
    log,
    name,
    async report() {
      const { cpuSeconds, memory, eventLoopDelayMs } = figures();
      const summary = workers?.registry.summary();
      return {
        parts: [...(await dependencyParts(checks)), ...(workers === undefined ? [] : workerParts(workers))],
        cpuSeconds,
        residentBytes: memory.residentBytes,
        eventLoopDelayMs: eventLoopDelayMs.p99,
        workers: summary === undefined ? null : { active: summary.active, idle: summary.idle },
        breakers: breakers === undefined ? {} : breakerReports(breakers, models?.cooling() ?? []),
        jobRates: jobRates?.read() ?? {},
        machine: machineReport(hostFigures()),
      };
    },
  });
  opening.whenClosing('the process heartbeat', heartbeat.close);
}

function machineReport({ cpu, loadAverage, memory, disk }: HostFigures): MachineReport {
  const memoryBytes = Math.min(memory.totalBytes, memory.limitBytes ?? memory.totalBytes);
  return {
    ...{ cpuCount: cpu.count, cpuUsedShare: cpu.usedShare, load1: loadAverage[0], memoryBytes },
    memoryUsedBytes: Math.max(0, memory.totalBytes - memory.availableBytes),
    disk:
      disk === null
        ? null
        : { usedBytes: disk.totalBytes - disk.availableBytes, totalBytes: disk.totalBytes },
  };
}

async function dependencyParts(checks: DependencyChecks): Promise<ReadinessPart[]> {
  return Object.entries(await checks()).map(([name, { status, latencyMs }]) => {
    return { name, status: status === 'degraded' ? 'failing' : status, latencyMs };
  });
}

function workerParts({ registry, names }: NonNullable<HeartbeatParts['workers']>): ReadinessPart[] {
  return names.map((name) => ({ name, status: registry.stateOf(name), latencyMs: null }));
}

function breakerReports(
  breakers: NonNullable<HeartbeatParts['breakers']>,
  coolingTargets: readonly CoolingTarget[],
): Record<string, BreakerReport> {
  return Object.fromEntries(
    Object.entries(breakers.states()).map(([name, state]) => {
      const { lastError, nextTryAtMs } = breakers.troubleOf(name) ?? { lastError: null, nextTryAtMs: null };
      const cooling = coolingTargets
        .filter(({ target }) => serviceOf(target) === name)
        .map(({ alias, target: { model }, reason, untilMs }) => ({ alias, model, reason, untilMs }));
      const failuresInARow = breakers.failuresInARow(name);
      return [name, { state, failuresInARow, lastError, nextTryAtMs, cooling }];
    }),
  );
}
