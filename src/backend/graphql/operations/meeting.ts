import { findMeeting } from '../../../domain/meetings/list-meetings.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const meeting: Declaration = (builder) =>
  builder.queryField('meeting', (t) =>
    t.field({
      type: 'Meeting',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const found = await findMeeting(context.parts.database, idOf('meeting', id));
        if (found === null || found.companyId !== companyId) throw notFound('meeting');
        return found;
      },
    }),
  );
