import { MATCH_GENERATOR_BREAKER, serviceOf } from '../domain/breakers/breaker.ts';
import type { Generator } from '../domain/matching/generator/generator.ts';
import type { CoolingTarget } from '../domain/models/model-directory.ts';
import { holdsToken } from '../http/client-identity.ts';
import type { DependencyChecks, DependencyState } from '../http/health.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { PoolStatus } from '../ports/database.ts';
import type { QueueWorkerStatus } from '../ports/job-queue.ts';

export interface AiHealthParts {
  readonly dependencies: DependencyChecks;
  readonly pool: () => PoolStatus;
  readonly workers: WorkerRegistry;
  /** One for each external AI service, by host. */
  readonly circuitBreakers: () => Readonly<Record<string, string>>;
  /** Model targets that are tried last because their provider limits their rate or rejects their key. */
  readonly coolingTargets?: () => readonly CoolingTarget[];
  /** Requests with one of these tokens are shown the hosts. */
  readonly internalTokens: readonly string[];
}

/** The background workers that readiness lists by name. */
export const NAMED_WORKERS = [
  'match_score_generator',
  'email_worker',
  'cv_worker',
  'document_worker',
] as const;

/** The states of a worker, as reported by the queue or the generator. */
export const WORKER_STATES = ['running', 'processing', 'failing', 'stopped'] as const;
type WorkerState = (typeof WORKER_STATES)[number];

/** The status of each state in readiness. `failing` is only `degraded`, because the worker keeps trying. */
const WORKER_STATUS: Readonly<Record<WorkerState, WorkersSummary['status']>> = {
  running: 'healthy',
  processing: 'healthy',
  failing: 'degraded',
  stopped: 'stopped',
};

/** None of these routes needs a token; without one, they show only states and counts. */
export function addHealth(app: ServiceApp, parts: AiHealthParts): void {
  const { dependencies, pool, workers, circuitBreakers, coolingTargets, internalTokens } = parts;
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
    // A worker notices a lost database only at its next poll; until then it would be reported as running.
    const stateOf = (name: string) => {
      const state = workers.detailOf(name);
      return state !== 'stopped' && !isThere ? 'failing' : state;
    };
    const workerStates = NAMED_WORKERS.map((name) => [name, stateOf(name)] as const);
    const named = Object.fromEntries(workerStates.map(([name, state]) => [name, WORKER_STATUS[state]]));
    const summary = { ...workers.summary(), ...(isThere ? {} : { status: 'degraded' as const }) };
    const breakers = circuitBreakers();
    const cooling = coolingTargets?.() ?? [];
    const isWhole =
      cache.status === 'healthy' &&
      states.journal?.status !== 'degraded' &&
      states.usage?.status !== 'degraded' &&
      states.secrets?.status !== 'degraded' &&
      summary.status === 'healthy' &&
      Object.values(breakers).every((state) => state === 'closed') &&
      cooling.length === 0;
    const status = readiness(database.status, isWhole);
    if (context.req.query('form') === 'flat') {
      return context.json({ status, components: { database: database.status, ...named } }, httpStatus);
    }
    const isInternal = holdsToken(context.req.raw, internalTokens);
    const components = {
      database,
      cache,
      workers: { ...summary, states: Object.fromEntries(workerStates) },
      circuit_breakers: isInternal ? breakers : withoutHosts(breakers),
      model_targets: {
        status: cooling.length === 0 ? 'healthy' : 'degraded',
        cooling: cooling.length,
        ...(isInternal ? { targets: cooling.map(shownCooling) } : {}),
      },
      ...waiting('journal', states.journal),
      ...waiting('usage', states.usage),
      ...waiting('secrets', states.secrets),
      ...named,
    };
    return context.json({ status, components }, httpStatus);
  });
}

/** The names of the providers are a trade secret: without a token, `service-1`, `service-2` are shown, ordered by host. */
function withoutHosts(breakers: Readonly<Record<string, string>>): Record<string, string> {
  const { [MATCH_GENERATOR_BREAKER]: generator, ...services } = breakers;
  const hosts = Object.keys(services).sort();
  return {
    ...Object.fromEntries(hosts.map((host, at) => [`service-${at + 1}`, services[host] ?? ''])),
    ...(generator === undefined ? {} : { [MATCH_GENERATOR_BREAKER]: generator }),
  };
}

/** A cooling target and the reason, for operators. */
export function shownCooling({ alias, target, reason, untilMs }: CoolingTarget) {
  const until = new Date(untilMs).toISOString();
  return { alias, service: serviceOf(target) ?? '', model: target.model, status: Number(reason), until };
}

/** Counts of what waits for an operator, such as calls that could not be charged; omitted if unknown. */
function waiting(name: string, state: DependencyState | undefined) {
  if (state?.figures === undefined) return {};
  return { [name]: { status: state.status === 'up' ? 'healthy' : 'degraded', ...state.figures } };
}

function component(state: DependencyState | undefined) {
  return { status: state?.status === 'up' ? 'healthy' : 'unhealthy', latency_ms: state?.latencyMs ?? 0 };
}

/** Without its database the service cannot work; without any other component it continues, degraded. */
function readiness(database: string, isWhole: boolean): string {
  if (database !== 'healthy') return 'unhealthy';
  return isWhole ? 'healthy' : 'degraded';
}

interface RegisteredWorker {
  status(): QueueWorkerStatus;
  /** An operator may stop it, which is not a fault. */
  readonly mayRest?: boolean;
}

interface WorkersSummary {
  /** `degraded` if some of them do not work, `stopped` if none is running or retrying. */
  readonly status: 'healthy' | 'degraded' | 'stopped';
  readonly active: number;
  readonly idle: number;
}

interface SeenWorker extends QueueWorkerStatus {
  readonly name: string;
  /** It is running, or an operator stopped it. */
  readonly isWell: boolean;
}

/** The background workers of this process, for readiness and monitoring, with their current state. */
export interface WorkerRegistry {
  add(name: string, worker: RegisteredWorker): void;
  /** `stopped` for a worker that is not in this process. */
  stateOf(name: string): QueueWorkerStatus['state'];
  /** Like `stateOf`, but `processing` for a running worker that is handling a job. */
  detailOf(name: string): WorkerState;
  each(): readonly SeenWorker[];
  summary(): WorkersSummary;
}

export function createWorkerRegistry(): WorkerRegistry {
  const workers = new Map<string, RegisteredWorker>();

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
    detailOf(name) {
      const { state, active } = workers.get(name)?.status() ?? { state: 'stopped', active: 0 };
      return state === 'running' && active > 0 ? 'processing' : state;
    },
    each,
    summary() {
      const seen = each();
      const isWhole = seen.length > 0 && seen.every(({ isWell }) => isWell);
      const sum = (which: 'active' | 'idle') => seen.reduce((total, state) => total + state[which], 0);
      const isStopped = seen.every(({ state, isWell }) => state === 'stopped' && !isWell);
      const status = isWhole ? 'healthy' : isStopped ? 'stopped' : 'degraded';
      return { status, active: sum('active'), idle: sum('idle') };
    },
  };
}

/** Adds the match score generator to the workers: stopped if an operator stopped it, failing if its last turn failed. */
export function addGenerator(
  registry: WorkerRegistry,
  generator: Pick<Generator, 'own' | 'isFailing'>,
): void {
  registry.add('match_score_generator', {
    mayRest: true,
    status() {
      const { state } = generator.own();
      if (generator.isFailing()) return { state: 'failing', active: 0, idle: 0 };
      if (state === 'stopped') return { state, active: 0, idle: 0 };
      const active = state === 'processing' ? 1 : 0;
      return { state: 'running', active, idle: 1 - active };
    },
  });
}
