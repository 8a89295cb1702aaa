import { toldOfTalent } from '../../../domain/matching/told-of-talent.ts';
import { exportTalent as exportOne } from '../../../domain/talents/export-talent.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** A mutation, because that somebody took a person's data out is itself written down. */
export const exportTalent: Declaration = (builder) =>
  builder.mutationField('exportTalent', (t) =>
    t.field({
      type: 'JSON',
      description:
        'Everything that is kept of a person: files in base64, what matching knows of them, and their matches with reasons. That it was exported is recorded.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const talentId = idOf('talent', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const exported = await exportOne(transaction, { companyId, talentId });
          if (exported.outcome === 'no-such-talent') throw notFound('talent');
          await record({ action: 'talent.exported', objectKind: 'talent', objectId: talentId });
          const { facts, matches } = await toldOfTalent(transaction, { companyId, talentId });
          return { ...exported.export, matchFacts: facts, matches };
        });
      },
    }),
  );
