import { findTalents } from '../../../domain/talents/list-talents.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const talent: Declaration = (builder) =>
  builder.queryField('talent', (t) =>
    t.field({
      type: 'Talent',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const [found] = await findTalents(context.parts.database, companyId, [idOf('talent', id)]);
        if (found == null) throw notFound('talent');
        return found;
      },
    }),
  );
