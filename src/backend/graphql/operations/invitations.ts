import { listInvitations } from '../../../domain/accounts/invitations.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const invitations: Declaration = (builder) =>
  builder.queryField('invitations', (t) =>
    t.field({
      type: 'InvitationConnection',
      description: 'Invitations that can still be accepted, the newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const { limit, after } = pageWish(args);
        const now = new Date(clock.now());
        const wish = { limit: limit + 1, after: after === null ? null : idOf('page', after), now };
        return pageOf(await listInvitations(database, companyId, wish), limit, ({ id }) => id);
      },
    }),
  );
