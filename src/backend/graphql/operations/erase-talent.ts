import { eraseTalent as eraseOne } from '../../../domain/talents/erase-talent.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const eraseTalent: Declaration = (builder) =>
  builder.mutationField('eraseTalent', (t) =>
    t.field({
      type: 'Boolean',
      description:
        'Takes away everything that is kept of a person: profile, versions, files, scores, and all who were recognised as the same.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const talentId = idOf('talent', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const erased = await eraseOne(transaction, { companyId, talentId });
          if (erased.outcome === 'no-such-talent') throw notFound('talent');
          const details = { rows: erased.talentIds.length };
          await record({ action: 'talent.erased', objectKind: 'talent', objectId: talentId, details });
          return true;
        });
      },
    }),
  );
