import { findJobs } from '../../../domain/jobs/list-jobs.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const job: Declaration = (builder) =>
  builder.queryField('job', (t) =>
    t.field({
      type: 'Job',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const [found] = await findJobs(context.parts.database, companyId, [idOf('job', id)]);
        if (found == null) throw notFound('job');
        return found;
      },
    }),
  );
