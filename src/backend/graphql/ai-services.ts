import type { BreakerState } from '../../domain/breakers/breaker.ts';
import { serviceOf } from '../../domain/breakers/target-service.ts';
import { readToldService, type ToldService } from '../../domain/breakers/told-service.ts';
import { aliasOf } from '../../domain/models/aliases.ts';
import { readCatalogue, type StoredTarget } from '../../domain/models/stored-targets.ts';
import { lastFailures, type TargetFailure } from '../../domain/operations/last-failures.ts';
import { listProcesses } from '../../domain/processes/process-board.ts';
import type { BreakerReport } from '../../domain/processes/process-report.ts';
import type { GraphqlParts } from './request-context.ts';

/** An external AI service with its breaker, as operators see it. */
export interface AiService extends ToldService {
  readonly service: string;
  readonly failuresInARow: number;
  readonly aliases: readonly string[];
}

type Parts = Pick<GraphqlParts, 'database' | 'sharedState' | 'clock' | 'log' | 'aliasPrefix'>;

const FAILURES_OF_MS = 24 * 3_600_000;
const WORST_FIRST: readonly BreakerState[] = ['open', 'half-open', 'closed'];

/**
 * Every service that a target names or a process knows. Whether it is called stands in shared state, where all agree;
 * while that is away the word of the processes counts, which is seconds old.
 */
export async function readAiServices(parts: Parts): Promise<readonly AiService[]> {
  const { database, clock, log, aliasPrefix } = parts;
  const nowMs = clock.now();
  const [{ targets }, processes, failures] = [
    await readCatalogue(database),
    await listProcesses(database, nowMs),
    await lastFailures(database, new Date(nowMs - FAILURES_OF_MS)),
  ];
  const live = processes.filter(({ isStale }) => !isStale);
  const names = new Set([
    ...targets.flatMap((target) => serviceOf(target) ?? []),
    ...live.flatMap(({ report }) => Object.keys(report.breakers)),
  ]);
  return await Promise.all(
    [...names].sort().map(async (service) => {
      const told = await readToldService(parts, service).catch((error: unknown) => {
        log.warn('the breakers cannot be read from shared state: processes are asked', { error });
        return null;
      });
      const reports = live.flatMap(({ report }) => report.breakers[service] ?? []);
      const own = targets.filter((target) => serviceOf(target) === service);
      const state = told?.state ?? worstOf(reports);
      return {
        service,
        state,
        failuresInARow: Math.max(0, ...reports.map(({ failuresInARow }) => failuresInARow)),
        aliases: [...new Set(own.map(({ alias }) => aliasOf(aliasPrefix, alias)))].sort(),
        lastError: lastOf(told, reports, loggedFailures(own, failures)),
        nextTryAtMs: state === 'closed' ? null : (told?.nextTryAtMs ?? firstTryOf(reports)),
      };
    }),
  );
}

function worstOf(reports: readonly BreakerReport[]): BreakerState {
  return WORST_FIRST.find((state) => reports.some((report) => report.state === state)) ?? 'closed';
}

function firstTryOf(reports: readonly BreakerReport[]): number | null {
  const tries = reports.flatMap(({ nextTryAtMs }) => nextTryAtMs ?? []);
  return tries.length === 0 ? null : Math.min(...tries);
}

function loggedFailures(own: readonly StoredTarget[], failures: readonly TargetFailure[]) {
  const ids = new Set(own.map(({ id }) => id));
  return failures
    .filter(({ targetId }) => ids.has(targetId))
    .map(({ reason, failedAt }) => ({ reason, atMs: failedAt.getTime() }));
}

/** A service is not opened by a few failures: those are known to the process that saw them, or in the log. */
function lastOf(
  told: ToldService | null,
  reports: readonly BreakerReport[],
  logged: readonly { readonly reason: string; readonly atMs: number }[],
) {
  const errors = [told?.lastError ?? [], reports.flatMap(({ lastError }) => lastError ?? []), logged].flat();
  return errors.toSorted((a, b) => b.atMs - a.atMs)[0] ?? null;
}
