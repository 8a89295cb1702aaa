import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const aiOperationObjects: Declaration = (builder) => {
  builder.enumType('OperationOutcome', { values: ['SUCCEEDED', 'FAILED', 'REFUSED'] as const });
  builder.objectType('AiOperation', {
    description: 'A call to a model, or one for a document or a meeting; whose it was is not told here.',
    fields: (t) => ({
      id: t.exposeID('id'),
      kind: t.exposeString('kind', { description: 'The endpoint, as chat/completions or parse/cv.' }),
      alias: t.exposeString('alias', { nullable: true }),
      outcome: t.expose('outcome', { type: 'OperationOutcome' }),
      reason: t.exposeString('reason', { nullable: true }),
      httpStatus: t.exposeInt('httpStatus'),
      promptTokens: t.float({
        nullable: true,
        resolve: ({ promptTokens }) => (promptTokens === null ? null : Number(promptTokens)),
      }),
      completionTokens: t.float({
        nullable: true,
        resolve: ({ completionTokens }) => (completionTokens === null ? null : Number(completionTokens)),
      }),
      requestId: t.exposeString('requestId'),
      startedAt: t.expose('startedAt', { type: 'DateTime' }),
      firstByteMs: t.exposeInt('firstByteMs', { nullable: true }),
      durationMs: t.exposeInt('durationMs'),
    }),
  });
  defineConnection(builder, 'AiOperation');
  builder.objectType('AiOperationStats', {
    description: 'Operations of one kind that ended alike, and how long they took.',
    fields: (t) => ({
      kind: t.exposeString('kind'),
      outcome: t.expose('outcome', { type: 'OperationOutcome' }),
      count: t.exposeInt('count'),
      p50Ms: t.float({ resolve: ({ latencyMs }) => latencyMs.p50 }),
      p95Ms: t.float({ resolve: ({ latencyMs }) => latencyMs.p95 }),
      p99Ms: t.float({ resolve: ({ latencyMs }) => latencyMs.p99 }),
    }),
  });
};
