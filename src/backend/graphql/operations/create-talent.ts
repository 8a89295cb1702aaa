import { createTalent as createOne } from '../../../domain/talents/create-talent.ts';
import { member } from '../access.ts';
import { documentFrom } from '../document-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createTalent: Declaration = (builder) => {
  const input = builder.inputType('TalentInput', {
    description: 'One of the three: a CV as text or as a file, or a profile in the form of JSON Resume.',
    fields: (t) => ({
      text: t.string(),
      file: t.field({ type: 'FileInput' }),
      profile: t.field({ type: 'JSON' }),
    }),
  });
  builder.mutationField('createTalent', (t) =>
    t.field({
      type: 'Talent',
      description:
        'PENDING until the CV worker has read the CV; READY at once with a profile. The same file again is the same talent.',
      authScopes: { member: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: createdBy } = await member(context);
        const { profile } = args.input;
        const file = documentFrom(args.input);
        const hasProfile = profile !== null && profile !== undefined;
        if ((file === null) !== hasProfile)
          throw badInput('input', 'give a text, a file or a profile: one of them');
        const from = file === null ? { profile } : { file };
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await createOne(transaction, context.parts, { companyId, createdBy, from });
          if (created.outcome === 'invalid') throw badInput('input.profile', created.message);
          // Nothing of the person: the audit log outlives an erasure.
          const { talent, isNew } = created;
          const details = { isNew, status: talent.status };
          await record({ action: 'talent.created', objectKind: 'talent', objectId: talent.id, details });
          return talent;
        });
      },
    }),
  );
};
