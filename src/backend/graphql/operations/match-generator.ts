import {
  type DesiredState,
  type GeneratorState,
  type GeneratorStatus,
  readMetrics,
  readStatus,
  setDesiredState,
} from '../../../domain/matching/generator/generator-status.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    MatchGenerator: GeneratorStatus & {
      readonly totalProcessed: number;
      readonly totalErrors: number;
      readonly throughputPerMinute: number;
      readonly lastProcessedAt: Date | null;
      readonly processes: number;
    };
  }
  interface SchemaScalars {
    GeneratorState: GeneratorState;
  }
}

const matchGeneratorObjects: Declaration = (builder) => {
  builder.enumType('GeneratorState', {
    values: {
      stopped: { value: 'stopped', description: 'It does nothing until it is started.' },
      running: { value: 'running', description: 'It waits for talents and jobs to change.' },
      processing: {
        value: 'processing',
        description: 'A batch is running. Stopping waits until it ends.',
      },
    },
  });
  builder.objectType('MatchGenerator', {
    description: 'The match score generator, over all processes that run it.',
    fields: (t) => ({
      state: t.expose('state', { type: 'GeneratorState' }),
      desiredState: t.expose('desiredState', {
        type: 'GeneratorState',
        description: 'The state that was requested last: running or stopped.',
      }),
      uptimeSeconds: t.exposeInt('uptimeSeconds'),
      currentBatch: t.exposeInt('currentBatch'),
      queueSize: t.exposeInt('queueSize'),
      totalProcessed: t.exposeInt('totalProcessed', { description: 'Matches since the last restart.' }),
      totalErrors: t.exposeInt('totalErrors'),
      throughputPerMinute: t.exposeInt('throughputPerMinute'),
      lastProcessedAt: t.expose('lastProcessedAt', { type: 'DateTime', nullable: true }),
      processes: t.exposeInt('processes', { description: 'Number of processes that run it.' }),
    }),
  });
};

const matchGenerator: Declaration = (builder) =>
  builder.queryField('matchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => readGenerator(context),
    }),
  );

const startMatchGenerator: Declaration = (builder) =>
  builder.mutationField('startMatchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      description: 'Starts it in all processes. No effect where it is already running.',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => setGenerator(context, 'running'),
    }),
  );

const stopMatchGenerator: Declaration = (builder) =>
  builder.mutationField('stopMatchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      description: 'Stops it in all processes after their current batch. It stays stopped after a restart.',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => setGenerator(context, 'stopped'),
    }),
  );

async function setGenerator(context: RequestContext, desired: DesiredState) {
  await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
    const isChanged = await setDesiredState(transaction, desired, new Date(context.parts.clock.now()));
    if (!isChanged) return nothingChanged();
    const action = desired === 'running' ? 'match-generator.started' : 'match-generator.stopped';
    await record({ action, objectKind: 'match-generator', objectId: 'match-generator', companyId: null });
  });
  return await readGenerator(context);
}

/** As the processes last reported it, at most a few seconds ago. */
async function readGenerator({ parts: { database, databaseClock } }: RequestContext) {
  const nowMs = databaseClock.now();
  const status = await readStatus(database, nowMs, null);
  // The breaker belongs to the process that answers, so only the metrics endpoint shows it.
  const metrics = await readMetrics(database, { nowMs, own: null, breakerState: 'closed' });
  return {
    ...status,
    totalProcessed: metrics.total_processed,
    totalErrors: metrics.total_errors,
    throughputPerMinute: metrics.throughput_per_minute,
    lastProcessedAt: metrics.last_processed_at === null ? null : new Date(metrics.last_processed_at),
    processes: metrics.processes.length,
  };
}

export const matchGeneratorDeclarations: readonly Declaration[] = [
  matchGeneratorObjects,
  matchGenerator,
  startMatchGenerator,
  stopMatchGenerator,
];
