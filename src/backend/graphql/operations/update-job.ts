import { changeJob } from '../../../domain/jobs/change-job.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { documentFrom, jobInputField } from '../document-input.ts';
import { draftOf } from '../posting-draft.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const updateJob: Declaration = (builder) =>
  builder.mutationField('updateJob', (t) =>
    t.field({
      type: 'Job',
      description:
        'What is left out stays; null takes away what a job need not have. Another text or file is read anew.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }), input: t.arg({ type: 'JobInput', required: true }) },
      async resolve(_root, { id, input }, context) {
        const { companyId, id: changedBy } = await member(context);
        const jobId = idOf('job', id);
        const { text: _text, file: _file, status, ...fields } = input;
        const document = documentFrom(input);
        const changes = {
          companyId,
          jobId,
          changedBy,
          fields,
          status: status ?? undefined,
          ...(document === null
            ? {}
            : { file: document, draft: await draftOf(context.parts.draftPosting, document) }),
        };
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const changed = await changeJob(transaction, context.parts, changes);
          if (changed.outcome === 'no-such-job') throw notFound('job');
          if (changed.outcome === 'invalid') throw badInput(jobInputField(changed.field), changed.message);
          const { title, status: now, version } = changed.job;
          if (!changed.isNew) nothingChanged();
          else {
            const details = { title, status: now, version };
            await record({ action: 'job.changed', objectKind: 'job', objectId: jobId, details });
          }
          return changed.job;
        });
      },
    }),
  );
