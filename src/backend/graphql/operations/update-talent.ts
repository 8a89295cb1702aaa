import { changeTalent } from '../../../domain/talents/change-talent.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const updateTalent: Declaration = (builder) =>
  builder.mutationField('updateTalent', (t) =>
    t.field({
      type: 'Talent',
      description: 'Puts a profile in the place of the one before, which is kept as a version.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }), profile: t.arg({ type: 'JSON', required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: changedBy } = await member(context);
        const talentId = idOf('talent', args.id);
        const edit = { companyId, talentId, changedBy, profile: args.profile };
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = await changeTalent(transaction, context.parts.clock, edit);
          if (changed.outcome === 'no-such-talent') throw notFound('talent');
          if (changed.outcome === 'invalid') throw badInput('profile', changed.message);
          const details = { version: changed.talent.version };
          await record({ action: 'talent.changed', objectKind: 'talent', objectId: talentId, details });
          return changed.talent;
        });
      },
    }),
  );
