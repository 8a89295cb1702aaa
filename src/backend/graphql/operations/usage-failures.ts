import { countFailures } from '../../../domain/calls/usage-failures.ts';
import { member } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';
import { usageDays } from '../usage-days.ts';

export const usageFailures: Declaration = (builder) =>
  builder.queryField('usageFailures', (t) =>
    t.field({
      type: 'UsageFailures',
      description:
        'Why calls of the company failed or were refused: from the day of `from` to the day of `to`, both included, ' +
        'in UTC; the last 30 days unless told. Refused calls are in no other total.',
      authScopes: { member: true },
      args: {
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime' }),
        groupBy: t.arg({
          type: ['UsageGroup'],
          description: 'Beside outcome, reason and status, which the rows always have.',
        }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const question = { companyId, ...usageDays(args, clock.now()) };
        const by = [...new Set(args.groupBy ?? [])];
        return { question, ...(await countFailures(database, { ...question, by })) };
      },
    }),
  );
