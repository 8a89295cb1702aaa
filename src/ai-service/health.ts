import type { DependencyChecks, DependencyState } from '../http/dependency-checks.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { PoolStatus } from '../ports/database.ts';
import type { WorkerBoard } from './worker-board.ts';

export interface AiHealthParts {
  readonly dependencies: DependencyChecks;
  readonly pool: () => PoolStatus;
  readonly workers: WorkerBoard;
  /** One for each external AI service, by its host. */
  readonly circuitBreakers: () => Readonly<Record<string, string>>;
}

/** The background workers that readiness names one by one. */
export const NAMED_WORKERS = [
  'match_score_generator',
  'email_worker',
  'cv_worker',
  'document_worker',
] as const;

/** None of these routes needs a token, and none tells more than states and counts. */
export function addHealth(app: ServiceApp, parts: AiHealthParts): void {
  const { dependencies, pool, workers, circuitBreakers } = parts;
  app.get('/health', (context) => context.json({ status: 'healthy' }));
  app.get('/health/live', (context) => context.json({ status: 'alive' }));

  app.get('/health/database', async (context) => {
    const database = component((await dependencies()).database);
    return context.json({ ...database, pool: pool() }, database.status === 'healthy' ? 200 : 503);
  });

  app.get('/health/ready', async (context) => {
    const states = await dependencies();
    const database = component(states.database);
    const cache = component(states.cache);
    const isThere = database.status === 'healthy';
    const httpStatus = isThere ? 200 : 503;
    // A worker finds out at its next look. Until then it would say that it runs, without a database to take jobs from.
    const stateOf = (name: string) => {
      const state = workers.stateOf(name);
      return state === 'running' && !isThere ? 'failing' : state;
    };
    const named = Object.fromEntries(NAMED_WORKERS.map((name) => [name, stateOf(name)]));
    const summary = { ...workers.summary(), ...(isThere ? {} : { status: 'unhealthy' }) };
    const breakers = circuitBreakers();
    const isWhole =
      cache.status === 'healthy' &&
      summary.status === 'healthy' &&
      Object.values(breakers).every((state) => state === 'closed');
    const status = readiness(database.status, isWhole);
    if (context.req.query('form') === 'flat') {
      return context.json({ status, components: { database: database.status, ...named } }, httpStatus);
    }
    const components = {
      database,
      cache,
      workers: summary,
      circuit_breakers: breakers,
      ...named,
    };
    return context.json({ status, components }, httpStatus);
  });
}

function component(state: DependencyState | undefined) {
  return { status: state?.status === 'up' ? 'healthy' : 'unhealthy', latency_ms: state?.latencyMs ?? 0 };
}

/** Without its database the service can do nothing; without any other part it works on, worse. */
function readiness(database: string, isWhole: boolean): string {
  if (database !== 'healthy') return 'unhealthy';
  return isWhole ? 'healthy' : 'degraded';
}
