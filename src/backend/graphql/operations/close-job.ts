import { changeJob } from '../../../domain/jobs/change-job.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const closeJob: Declaration = (builder) =>
  builder.mutationField('closeJob', (t) =>
    t.field({
      type: 'Job',
      description: 'It is listed as closed and matched no more. Again is no error.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId, id: changedBy } = await member(context);
        const jobId = idOf('job', id);
        const changes = { companyId, jobId, changedBy, fields: {}, status: 'CLOSED' } as const;
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const changed = await changeJob(transaction, context.parts, changes);
          if (changed.outcome !== 'changed') throw notFound('job');
          const { title, version } = changed.job;
          if (!changed.isNew) nothingChanged();
          else {
            const details = { title, version };
            await record({ action: 'job.closed', objectKind: 'job', objectId: jobId, details });
          }
          return changed.job;
        });
      },
    }),
  );
