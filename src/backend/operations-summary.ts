import { z } from 'zod';
import { countUnfinishedEvents } from '../domain/payments/event-inbox.ts';
import { isReady, listProcesses, SERVICE_NAMES } from '../domain/processes/service-processes.ts';
import { internalAccess } from '../http/client-identity.ts';
import type { DependencyChecks } from '../http/health.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Statements } from '../ports/database.ts';
import type { QueueDepth } from '../ports/job-queue.ts';

export interface OperationsParts {
  readonly database: Statements;
  readonly databaseClock: Clock;
  readonly dependencies: DependencyChecks;
  readonly queues: { depths(): Promise<readonly QueueDepth[]> };
  /** Without tokens the route is not served: the figures are not public. */
  readonly internalTokens?: readonly string[];
}

export const OPERATIONS_PATH = '/operations';

const count = z.int().nonnegative();

/** Values are null if they need the database and it does not answer. */
export const operationsSummary = z.strictObject({
  status: z.enum(['ok', 'degraded']),
  dependencies: z.record(
    z.string(),
    z.looseObject({ status: z.enum(['up', 'degraded', 'down']), latency_ms: z.number() }),
  ),
  services: z
    .array(
      z.strictObject({
        service: z.enum(SERVICE_NAMES),
        processes: count,
        ready: count,
        stale: count,
        versions: z.array(z.string()),
      }),
    )
    .nullable(),
  payment_events: z
    .strictObject({
      ...{ received: count, deferred: count, failed: count },
      oldest_received_at: z.iso.datetime().nullable(),
    })
    .nullable(),
  queues: z
    .array(
      z.strictObject({
        ...{ name: z.string(), waiting: count, active: count, dead: count },
        oldest_waiting_seconds: count.nullable(),
      }),
    )
    .nullable(),
});
type Summary = z.output<typeof operationsSummary>;

/**
 * The state of the whole deployment in one response, for scripts and status pages that have the internal token and no
 * Prometheus. It is read-only: operators make changes in GraphQL, as users and with the audit log.
 */
export function addOperations(app: ServiceApp, parts: OperationsParts): void {
  if (isServed(parts)) app.get(OPERATIONS_PATH, async (context) => context.json(await summaryOf(parts)));
}

/** A request without a token is refused before its length is looked at. */
export function guardOperations(app: ServiceApp, parts: Pick<OperationsParts, 'internalTokens'>): void {
  if (isServed(parts)) app.use(OPERATIONS_PATH, internalAccess(parts.internalTokens ?? []));
}

function isServed({ internalTokens = [] }: Pick<OperationsParts, 'internalTokens'>): boolean {
  return internalTokens.length > 0;
}

async function summaryOf(parts: OperationsParts): Promise<Summary> {
  const states = Object.entries(await parts.dependencies());
  const dependencies = Object.fromEntries(
    states.map(([name, { status, latencyMs, figures }]) => [
      name,
      { status, latency_ms: latencyMs, ...figures },
    ]),
  );
  const isDatabaseUp = dependencies.database === undefined || dependencies.database.status === 'up';
  const stored = isDatabaseUp ? await storedState(parts) : NOTHING_STORED;
  const isWell =
    states.every(([, { status }]) => status === 'up') &&
    (stored.services ?? []).every(({ ready }) => ready > 0) &&
    stored.payment_events?.failed === 0;
  return { status: isWell ? 'ok' : 'degraded', dependencies, ...stored };
}

type StoredState = Pick<Summary, 'services' | 'payment_events' | 'queues'>;
const NOTHING_STORED: StoredState = { services: null, payment_events: null, queues: null };

async function storedState({ database, databaseClock, queues }: OperationsParts): Promise<StoredState> {
  const processes = await listProcesses(database, databaseClock.now());
  const { received, deferred, failed, oldestReceivedAt } = await countUnfinishedEvents(database);
  const depths = await queues.depths();
  return {
    services: SERVICE_NAMES.map((service) => {
      const own = processes.filter(({ services }) => services.includes(service));
      const live = own.filter(({ isStale }) => !isStale);
      return {
        ...{ service, processes: live.length, ready: live.filter(isReady).length },
        stale: own.length - live.length,
        versions: [...new Set(live.map(({ version }) => version))].sort(),
      };
    }),
    payment_events: {
      ...{ received, deferred, failed },
      oldest_received_at: oldestReceivedAt?.toISOString() ?? null,
    },
    queues: depths.map(({ oldestWaitingSeconds, ...depth }) => {
      return { ...depth, oldest_waiting_seconds: oldestWaitingSeconds };
    }),
  };
}
