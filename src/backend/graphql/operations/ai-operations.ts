import {
  type AiOperation,
  countOperations,
  countTargets,
  listOperations,
  type OperationCount,
  type TargetCount,
} from '../../../domain/calls/usage/ai-operations.ts';
import { boundedOrNull, hoursAgo, timeSpan } from '../input.ts';
import { defineConnection, idCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AiOperation: AiOperation;
    AiOperationConnection: Page<AiOperation>;
    AiOperationStats: OperationCount;
    AiTargetStats: TargetCount;
  }
  interface SchemaScalars {
    OperationOutcome: OperationCount['outcome'];
  }
}

const aiOperationObjects: Declaration = (builder) => {
  builder.enumType('OperationOutcome', { values: ['SUCCEEDED', 'FAILED', 'REFUSED'] as const });
  builder.objectType('AiOperation', {
    description: 'A call to a model, or one for a document or a meeting, without its company.',
    fields: (t) => ({
      id: t.exposeID('id'),
      kind: t.exposeString('kind', { description: 'The endpoint, such as chat/completions or parse/cv.' }),
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
    description: 'Operations of one kind with the same outcome, and their durations.',
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

const aiOperations: Declaration = (builder) =>
  builder.queryField('aiOperations', (t) =>
    t.field({
      type: 'AiOperationConnection',
      description: 'Model calls of all companies, newest first. Default: the last 24 hours.',
      authScopes: { superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        kind: t.arg.string({ description: 'As chat/completions.' }),
        outcome: t.arg({ type: 'OperationOutcome' }),
        hours: t.arg.int({ description: 'So far back, where `from` does not say it: 1 to 168.' }),
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime', description: 'Before this time.' }),
      },
      async resolve(_root, args, { parts: { database, clock } }) {
        const { limit, after } = pageArgs(args);
        const page = {
          ...timeSpan(args, clock.now()),
          kind: args.kind === '' ? null : boundedOrNull('line', 'kind', args.kind),
          outcome: args.outcome ?? null,
          limit: limit + 1,
          after: idCursor(after),
        };
        return pageOf(await listOperations(database, page), limit, ({ id }) => id);
      },
    }),
  );

const aiOperationStats: Declaration = (builder) =>
  builder.queryField('aiOperationStats', (t) =>
    t.field({
      type: ['AiOperationStats'],
      description: 'The same, grouped by kind and outcome, with percentiles of their durations.',
      authScopes: { superAdmin: true },
      args: { hours: t.arg.int({ description: 'The period before now in hours, 1 to 168. Default 24.' }) },
      async resolve(_root, { hours }, { parts: { database, clock } }) {
        return [...(await countOperations(database, hoursAgo(hours, clock.now())))];
      },
    }),
  );

const aiTargetStats: Declaration = (builder) => {
  builder.objectType('AiTargetStats', {
    description: 'Calls that a target answered for one alias, and how soon its answers began.',
    fields: (t) => ({
      target: t.exposeString('targetId', { description: 'The id of the target, or embedded.' }),
      alias: t.exposeString('alias', { nullable: true }),
      count: t.exposeInt('count'),
      p50Ms: t.float({ resolve: ({ firstByteMs }) => firstByteMs.p50 }),
      p95Ms: t.float({ resolve: ({ firstByteMs }) => firstByteMs.p95 }),
      p99Ms: t.float({ resolve: ({ firstByteMs }) => firstByteMs.p99 }),
    }),
  });
  builder.queryField('aiTargetStats', (t) =>
    t.field({
      type: ['AiTargetStats'],
      description: 'Time to first byte of each target for successful calls, slowest first, at most 200.',
      authScopes: { superAdmin: true },
      args: { hours: t.arg.int({ description: 'The period before now in hours, 1 to 168. Default 24.' }) },
      async resolve(_root, { hours }, { parts: { database, clock } }) {
        return [...(await countTargets(database, hoursAgo(hours, clock.now())))];
      },
    }),
  );
};

export const aiOperationDeclarations: readonly Declaration[] = [
  aiOperationObjects,
  aiOperations,
  aiOperationStats,
  aiTargetStats,
];
