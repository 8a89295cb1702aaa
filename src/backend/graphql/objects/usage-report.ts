import { creditsFrom } from '../credits.ts';
import type { Declaration } from '../schema-builder.ts';

export const usageReportObjects: Declaration = (builder) => {
  builder.enumType('UsageGroup', {
    values: { DAY: { value: 'day' }, ALIAS: { value: 'model' }, KEY: { value: 'key' } } as const,
  });
  builder.objectType('UsageTotals', {
    description: 'Tokens are those of calls that succeeded.',
    fields: (t) => ({
      calls: t.float({ resolve: ({ calls }) => Number(calls) }),
      failures: t.float({ resolve: ({ failures }) => Number(failures) }),
      promptTokens: t.float({ resolve: ({ promptTokens }) => Number(promptTokens) }),
      cachedTokens: t.float({ resolve: ({ cachedTokens }) => Number(cachedTokens) }),
      completionTokens: t.float({ resolve: ({ completionTokens }) => Number(completionTokens) }),
      credits: t.float({ resolve: ({ chargeMicro }) => creditsFrom(chargeMicro) }),
    }),
  });
  builder.objectType('UsageRow', {
    description: 'What the report is not grouped by is null.',
    fields: (t) => ({
      day: t.exposeString('day', { nullable: true }),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      totals: t.field({ type: 'UsageTotals', resolve: (row) => row }),
    }),
  });
  builder.objectType('UsageReport', {
    fields: (t) => ({
      totals: t.expose('totals', { type: 'UsageTotals' }),
      rows: t.field({ type: ['UsageRow'], resolve: ({ rows }) => [...rows] }),
    }),
  });
};
