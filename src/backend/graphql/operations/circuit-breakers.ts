import { type BreakerState, MATCH_GENERATOR_BREAKER, serviceOf } from '../../../domain/breakers/breaker.ts';
import {
  type PublishedService,
  readPublishedService,
  resetPublishedService,
} from '../../../domain/breakers/breakers.ts';
import { lastFailures, type TargetFailure } from '../../../domain/logs/log-queries.ts';
import { aliasOf } from '../../../domain/models/aliases.ts';
import type { StoredTarget } from '../../../domain/models/target.ts';
import { readCatalogue } from '../../../domain/models/targets.ts';
import {
  type BreakerReport,
  type CoolingReport,
  listProcesses,
} from '../../../domain/processes/service-processes.ts';
import { conflict, notFound } from '../errors.ts';
import { bounded } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { GraphqlParts } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CircuitBreaker: AiService;
    CoolingTarget: CoolingReport;
  }
  interface SchemaScalars {
    BreakerState: AiService['state'];
  }
}

/** An external AI service with its breaker, as operators see it. */
interface AiService extends PublishedService {
  readonly service: string;
  readonly failuresInARow: number;
  readonly aliases: readonly string[];
  readonly cooling: readonly CoolingReport[];
}

const circuitBreakerObjects: Declaration = (builder) => {
  builder.enumType('BreakerState', {
    values: {
      CLOSED: { value: 'closed', description: 'Calls are sent to the service.' },
      OPEN: { value: 'open', description: 'It failed too often in a row. Calls are not sent to it for now.' },
      HALF_OPEN: { value: 'half-open', description: 'The next call is a test.' },
    } as const,
  });
  builder.objectType('CoolingTarget', {
    description:
      'A target in cooldown, which is tried last for a while because its provider rate-limits that model and key, or refuses the key.',
    fields: (t) => ({
      alias: t.exposeString('alias'),
      model: t.exposeString('model', { description: 'The provider’s name of it.' }),
      status: t.int({ resolve: ({ reason }) => Number(reason), description: 'As 429 or 401.' }),
      until: t.field({ type: 'DateTime', resolve: ({ untilMs }) => new Date(untilMs) }),
    }),
  });
  builder.objectType('CircuitBreaker', {
    description: 'An external AI service, by its host, and the state of its circuit breaker.',
    fields: (t) => ({
      service: t.exposeString('service'),
      state: t.expose('state', { type: 'BreakerState' }),
      failuresInARow: t.exposeInt('failuresInARow', {
        description: 'The maximum over all processes.',
      }),
      aliases: t.field({ type: ['String'], resolve: ({ aliases }) => [...aliases] }),
      lastErrorReason: t.string({ nullable: true, resolve: ({ lastError }) => lastError?.reason ?? null }),
      lastErrorAt: t.field({
        type: 'DateTime',
        nullable: true,
        resolve: ({ lastError }) => (lastError === null ? null : new Date(lastError.atMs)),
      }),
      nextTryAt: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'When a test call is allowed. Null while it is closed.',
        resolve: ({ nextTryAtMs }) => (nextTryAtMs === null ? null : new Date(nextTryAtMs)),
      }),
      cooling: t.field({ type: ['CoolingTarget'], resolve: ({ cooling }) => [...cooling] }),
    }),
  });
};

const circuitBreakers: Declaration = (builder) =>
  builder.queryField('circuitBreakers', (t) =>
    t.field({
      type: ['CircuitBreaker'],
      description: 'The state of every external AI service, shared by all processes.',
      authScopes: { superAdmin: true },
      resolve: async (_root, _args, { parts }) => [...(await readAiServices(parts))],
    }),
  );

const resetCircuitBreaker: Declaration = (builder) =>
  builder.mutationField('resetCircuitBreaker', (t) =>
    t.field({
      type: 'CircuitBreaker',
      description:
        'Closes the breaker, so that all processes call the service again. It opens again if that still fails.',
      authScopes: { superAdmin: true },
      args: { service: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const name = bounded('line', 'service', args.service);
        const find = async () =>
          (await readAiServices(context.parts)).find(({ service }) => service === name);
        if ((await find()) === undefined) throw notFound('AI service');
        const reset = await resetPublishedService(context.parts, name);
        if (reset.outcome === 'closed-before')
          throw conflict('The circuit breaker of this service is closed. There is nothing to reset.');
        await recordedChange(context, ({ record }) =>
          record({ action: 'breaker.reset', objectKind: 'ai-service', objectId: name, companyId: null }),
        );
        const after = await find();
        if (after === undefined) throw notFound('AI service');
        return after;
      },
    }),
  );

type Parts = Pick<
  GraphqlParts,
  'database' | 'sharedState' | 'clock' | 'databaseClock' | 'log' | 'aliasPrefix'
>;

export const FAILURES_OF_MS = 24 * 3_600_000;
const WORST_FIRST: readonly BreakerState[] = ['open', 'half-open', 'closed'];

/**
 * Every service that a target uses, and the match score generator if a process reports its breaker. The breaker's state
 * is in shared state, which all processes agree on; while that is unavailable, the reports of the processes are used,
 * which are seconds old.
 */
export async function readAiServices(parts: Parts): Promise<readonly AiService[]> {
  const { database, databaseClock, log, aliasPrefix } = parts;
  const nowMs = databaseClock.now();
  const [{ targets }, processes, failures] = [
    await readCatalogue(database),
    await listProcesses(database, nowMs),
    await lastFailures(database, new Date(nowMs - FAILURES_OF_MS)),
  ];
  const live = processes.filter(({ isStale }) => !isStale);
  const names = new Set([
    ...targets.flatMap((target) => serviceOf(target) ?? []),
    ...live.flatMap(({ report }) =>
      MATCH_GENERATOR_BREAKER in report.breakers ? MATCH_GENERATOR_BREAKER : [],
    ),
  ]);
  return await Promise.all(
    [...names].sort().map(async (service) => {
      const shared = await readPublishedService(parts, service).catch((error: unknown) => {
        log.warn('the breakers cannot be read from shared state; reading them from the processes', { error });
        return null;
      });
      const reports = live.flatMap(({ report }) => report.breakers[service] ?? []);
      const own = targets.filter((target) => isOf(service, target));
      const state = shared?.state ?? worstOf(reports);
      return {
        service,
        state,
        failuresInARow: Math.max(0, ...reports.map(({ failuresInARow }) => failuresInARow)),
        aliases: [...new Set(own.map(({ alias }) => aliasOf(aliasPrefix, alias)))].sort(),
        lastError: lastOf(shared, reports, loggedFailures(own, failures)),
        nextTryAtMs: state === 'closed' ? null : (shared?.nextTryAtMs ?? firstTryOf(reports)),
        cooling: longestOf(reports, nowMs),
      };
    }),
  );
}

function isOf(service: string, target: StoredTarget): boolean {
  if (service !== MATCH_GENERATOR_BREAKER) return serviceOf(target) === service;
  return GENERATOR_ALIASES.includes(target.alias);
}

const GENERATOR_ALIASES: readonly string[] = ['embed-default', 'extract-default'];

/** Each target once, from the process in which it cools down longest. */
function longestOf(reports: readonly BreakerReport[], nowMs: number): readonly CoolingReport[] {
  const longest = new Map<string, CoolingReport>();
  for (const cooling of reports.flatMap((report) => report.cooling ?? [])) {
    const name = `${cooling.alias} ${cooling.model}`;
    const known = longest.get(name);
    if (cooling.untilMs > Math.max(nowMs, known?.untilMs ?? 0)) longest.set(name, cooling);
  }
  return [...longest.values()].sort((one, other) => (one.alias < other.alias ? -1 : 1));
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

/** Failures that did not open the breaker are known only to the process that saw them, and to the log. */
function lastOf(
  shared: PublishedService | null,
  reports: readonly BreakerReport[],
  logged: readonly { readonly reason: string; readonly atMs: number }[],
) {
  const errors = [
    shared?.lastError ?? [],
    reports.flatMap(({ lastError }) => lastError ?? []),
    logged,
  ].flat();
  return errors.toSorted((a, b) => b.atMs - a.atMs)[0] ?? null;
}

export const circuitBreakerDeclarations: readonly Declaration[] = [
  circuitBreakerObjects,
  circuitBreakers,
  resetCircuitBreaker,
];
