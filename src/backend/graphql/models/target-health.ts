import { type BreakerState, serviceOf } from '../../../domain/breakers/breaker.ts';
import { lastFailures } from '../../../domain/logs/log-queries.ts';
import { aliasOf } from '../../../domain/models/aliases.ts';
import { readCatalogue } from '../../../domain/models/targets.ts';
import { FAILURES_OF_MS, readAiServices } from '../operations/circuit-breakers.ts';
import type { FieldSize } from '../query-cost.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    TargetHealth: TargetHealth;
  }
}

/** The state of a target: its provider's breaker, its cooldown, and its recent failures. */
interface TargetHealth {
  readonly state: BreakerState;
  readonly coolingStatus: number | null;
  readonly coolingUntil: Date | null;
  readonly recentFailures: number;
  readonly lastFailureReason: string | null;
  readonly lastFailureAt: Date | null;
}

const health: Declaration = (builder) => {
  builder.objectType('TargetHealth', {
    fields: (t) => ({
      state: t.expose('state', {
        type: 'BreakerState',
        description: 'The state of its provider’s circuit breaker.',
      }),
      coolingStatus: t.exposeInt('coolingStatus', {
        nullable: true,
        description: 'The status that caused the cooldown, such as 429 or 401. Null: not in cooldown.',
      }),
      coolingUntil: t.expose('coolingUntil', { type: 'DateTime', nullable: true }),
      recentFailures: t.exposeInt('recentFailures', {
        description:
          'Failed attempts of the last 24 hours according to the log. If all targets fail often, only the newest lines are counted.',
      }),
      lastFailureReason: t.exposeString('lastFailureReason', {
        nullable: true,
        description: 'Of the last 24 hours, as a short code: a status, connect, late.',
      }),
      lastFailureAt: t.expose('lastFailureAt', { type: 'DateTime', nullable: true }),
    }),
  });
  builder.objectField('AliasTarget', 'health', (t) =>
    t.loadable({
      type: 'TargetHealth',
      nullable: true,
      extensions: { maxRows: 1 } satisfies FieldSize,
      description: 'Its current state and recent failures.',
      load: loadHealth,
      resolve: ({ id }) => id,
    }),
  );
};

async function loadHealth(ids: string[], { parts }: RequestContext): Promise<(TargetHealth | null)[]> {
  const { database, clock, aliasPrefix } = parts;
  const { targets } = await readCatalogue(database);
  const services = await readAiServices(parts);
  const failures = await lastFailures(database, new Date(clock.now() - FAILURES_OF_MS));
  return ids.map((id) => {
    const target = targets.find((one) => one.id === id);
    if (target === undefined) return null;
    const service = services.find((one) => one.service === serviceOf(target));
    const alias = aliasOf(aliasPrefix, target.alias);
    const cooling = service?.cooling.find((one) => one.alias === alias && one.model === target.model);
    const failure = failures.find(({ targetId }) => targetId === id);
    return {
      state: service?.state ?? 'closed',
      coolingStatus: cooling === undefined ? null : Number(cooling.reason),
      coolingUntil: cooling === undefined ? null : new Date(cooling.untilMs),
      recentFailures: failure?.count ?? 0,
      lastFailureReason: failure?.reason ?? null,
      lastFailureAt: failure?.failedAt ?? null,
    };
  });
}

export const targetHealthDeclarations: readonly Declaration[] = [health];
