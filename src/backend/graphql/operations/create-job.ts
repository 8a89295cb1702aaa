import { createJob as createOne } from '../../../domain/jobs/create-job.ts';
import { member } from '../access.ts';
import { documentFrom, jobInputField } from '../document-input.ts';
import { draftOf } from '../posting-draft.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createJob: Declaration = (builder) =>
  builder.mutationField('createJob', (t) =>
    t.field({
      type: 'Job',
      description:
        'From fields: ACTIVE unless told. From a text or a file: a DRAFT, which the document worker fills in.',
      authScopes: { member: true },
      args: { input: t.arg({ type: 'JobInput', required: true }) },
      async resolve(_root, { input }, context) {
        const { companyId, id: createdBy } = await member(context);
        const { text: _text, file: _file, status, ...fields } = input;
        const document = documentFrom(input);
        const wanted = {
          companyId,
          createdBy,
          fields,
          status: status ?? undefined,
          ...(document === null
            ? {}
            : { file: document, draft: await draftOf(context.parts.draftPosting, document) }),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await createOne(transaction, context.parts, wanted);
          if (created.outcome === 'invalid') throw badInput(jobInputField(created.field), created.message);
          const { id, title } = created.job;
          const details = { title, status: created.job.status };
          await record({ action: 'job.created', objectKind: 'job', objectId: id, details });
          return created.job;
        });
      },
    }),
  );
