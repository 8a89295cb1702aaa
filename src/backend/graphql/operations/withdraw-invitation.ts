import { withdrawInvitation as withdraw } from '../../../domain/accounts/invitations.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const withdrawInvitation: Declaration = (builder) =>
  builder.mutationField('withdrawInvitation', (t) =>
    t.field({
      type: 'Invitation',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const invitationId = idOf('invitation', args.id);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const withdrawn = await withdraw(transaction, { companyId, invitationId, now });
          if (withdrawn === null) throw notFound('invitation');
          const object = { objectKind: 'invitation', objectId: invitationId };
          await record({ action: 'invitation.withdrawn', ...object, details: { email: withdrawn.email } });
          return withdrawn;
        });
      },
    }),
  );
