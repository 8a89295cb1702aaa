import { NO_USAGE, type UsageDimension, usageReport } from '../../../domain/calls/usage-report.ts';
import { member } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';
import { usageDays } from '../usage-days.ts';

export const usage: Declaration = (builder) =>
  builder.queryField('usage', (t) =>
    t.field({
      type: 'UsageReport',
      description:
        'What the company’s keys have used: from the day of `from` to the day of `to`, both included, in UTC; the ' +
        'last 30 days unless told. A call is in it as soon as its answer has ended.',
      authScopes: { member: true },
      args: {
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime' }),
        groupBy: t.arg({ type: ['UsageGroup'], description: 'Without it there are totals and no rows.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const range = usageDays(args, clock.now());
        const dimensions: readonly UsageDimension[] = [...new Set(args.groupBy ?? [])];
        const question = { companyId, keyId: null, ...range };
        if (!dimensions.includes('key')) {
          const by = dimensions.length === 0 ? [[]] : [[], dimensions];
          const [totals = [], rows = []] = (await usageReport(database, { ...question, by })).groups;
          return { totals: totals[0] ?? NO_USAGE, rows };
        }
        // Keys have rows of their own beside the company's, so theirs is a report of its own.
        const [whole, keys] = await Promise.all([
          usageReport(database, { ...question, by: [[]] }),
          usageReport(database, { ...question, by: [dimensions] }),
        ]);
        return { totals: whole.groups[0]?.[0] ?? NO_USAGE, rows: keys.groups[0] ?? [] };
      },
    }),
  );
