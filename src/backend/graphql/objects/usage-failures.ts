import { latestFailures } from '../../../domain/calls/usage-failures.ts';
import type { Declaration } from '../schema-builder.ts';

export const usageFailuresObjects: Declaration = (builder) => {
  builder.enumType('FailureOutcome', {
    values: {
      FAILED: { description: 'It was on its way to a model, or had an answer that is not charged.' },
      REFUSED: { description: 'It was turned away before: no credits, a limit, a scope, a wrong request.' },
    },
  });
  builder.objectType('UsageFailureRow', {
    description: 'What the report is not grouped by is null.',
    fields: (t) => ({
      outcome: t.expose('outcome', { type: 'FailureOutcome' }),
      reason: t.exposeString('reason', {
        nullable: true,
        description: 'In a word, as client-left or INSUFFICIENT_CREDITS.',
      }),
      httpStatus: t.exposeInt('httpStatus', { description: 'What the caller was answered.' }),
      day: t.exposeString('day', { nullable: true }),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      calls: t.float({ resolve: ({ calls }) => Number(calls) }),
      lastAt: t.expose('lastAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('FailedCall', {
    fields: (t) => ({
      id: t.exposeID('id'),
      requestId: t.exposeString('requestId', { description: 'As the caller got it in x-request-id.' }),
      endpoint: t.exposeString('endpoint'),
      outcome: t.expose('outcome', { type: 'FailureOutcome' }),
      reason: t.exposeString('reason', { nullable: true }),
      httpStatus: t.exposeInt('httpStatus'),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      startedAt: t.expose('startedAt', { type: 'DateTime' }),
      durationMs: t.exposeInt('durationMs'),
    }),
  });
  builder.objectType('UsageFailures', {
    fields: (t) => ({
      rows: t.field({
        type: ['UsageFailureRow'],
        description: 'The most frequent first, at most 1,000.',
        resolve: ({ groups }) => [...groups],
      }),
      countedFrom: t.expose('countedFrom', {
        type: 'DateTime',
        nullable: true,
        description: 'Set where there were more than 20,000 of them: only those since then are counted.',
      }),
      latest: t.field({
        type: ['FailedCall'],
        description: 'The newest 50.',
        async resolve({ question }, _args, context) {
          return [...(await latestFailures(context.parts.database, question))];
        },
      }),
    }),
  });
};
