import { type GeneratorWish, readStatus, setWish } from '../../../domain/matching/generator-board.ts';
import { readMetrics } from '../../../domain/matching/generator-metrics.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const matchGenerator: Declaration = (builder) =>
  builder.queryField('matchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => look(context),
    }),
  );

export const startMatchGenerator: Declaration = (builder) =>
  builder.mutationField('startMatchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      description: 'Starts it in all processes; harmless where it runs.',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => wish(context, 'running'),
    }),
  );

export const stopMatchGenerator: Declaration = (builder) =>
  builder.mutationField('stopMatchGenerator', (t) =>
    t.field({
      type: 'MatchGenerator',
      description: 'Stops it in all processes, each after its batch. It stays stopped after a restart.',
      authScopes: { superAdmin: true },
      resolve: (_root, _args, context) => wish(context, 'stopped'),
    }),
  );

async function wish(context: RequestContext, wanted: GeneratorWish) {
  await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
    const isChanged = await setWish(transaction, wanted, new Date(context.parts.clock.now()));
    if (!isChanged) return nothingChanged();
    const action = wanted === 'running' ? 'match-generator.started' : 'match-generator.stopped';
    await record({ action, objectKind: 'match-generator', objectId: 'match-generator', companyId: null });
  });
  return await look(context);
}

/** What the processes have told of themselves, some seconds ago at most. */
async function look({ parts: { database, clock } }: RequestContext) {
  const nowMs = clock.now();
  const status = await readStatus(database, nowMs, null);
  // The breakers' states stand elsewhere: they are those of the process that calls.
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
