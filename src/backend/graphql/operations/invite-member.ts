import { inviteMember as invite } from '../../../domain/accounts/invitations.ts';
import { member } from '../access.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, conflict } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const inviteMember: Declaration = (builder) =>
  builder.mutationField('inviteMember', (t) =>
    t.field({
      type: 'Invitation',
      description: 'Mails an invitation, good for a week. An earlier one of the same address ends.',
      authScopes: { companyAdmin: true },
      args: {
        email: t.arg.string({ required: true }),
        role: t.arg({ type: 'Role', required: true, defaultValue: 'MEMBER' }),
      },
      async resolve(_root, args, context) {
        const inviter = await member(context);
        const email = bounded('email', 'email', args.email);
        await countAttempt(context, 'invitation', inviter.companyId);
        return await recordedChange(context, async ({ transaction, record }) => {
          const invited = await invite(context.parts, transaction, { inviter, email, role: args.role });
          if (invited.outcome === 'bad-email') throw badInput('email', 'this is no e-mail address');
          if (invited.outcome === 'email-taken') throw conflict('This address has an account already.');
          const { invitation } = invited;
          const details = { email: invitation.email, role: invitation.role };
          const object = { objectKind: 'invitation', objectId: invitation.id };
          await record({ action: 'member.invited', ...object, details });
          return invitation;
        });
      },
    }),
  );
