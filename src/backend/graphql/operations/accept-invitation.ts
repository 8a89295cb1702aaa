import { acceptInvitation as accept } from '../../../domain/accounts/invitations.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { hashNewPassword } from '../new-password.ts';
import { recordedChange } from '../recorded-change.ts';
import { conflict, refusal } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from '../start-recorded-session.ts';

export const acceptInvitation: Declaration = (builder) =>
  builder.mutationField('acceptInvitation', (t) =>
    t.field({
      type: 'Session',
      description: 'Makes an account in the inviting company with the token of a mail, once.',
      authScopes: { anyone: true },
      args: { token: t.arg.string({ required: true }), password: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'token', args.token);
        await countAttempt(context, 'token');
        const passwordHash = await hashNewPassword(context, 'password', args.password);
        return await recordedChange(context, async (change) => {
          const accepted = await accept(context.parts, change.transaction, { token, passwordHash });
          if (accepted.outcome === 'no-such-invitation') {
            throw refusal('NOT_FOUND', 'This invitation is used, withdrawn or too old: ask for a new one.');
          }
          if (accepted.outcome === 'email-taken') throw conflict('This address has an account already.');
          const { id, companyId, email, role } = accepted.invitation;
          const actor = { id: accepted.userId, email };
          const object = { objectKind: 'invitation', objectId: id, companyId };
          await change.record({ action: 'invitation.accepted', ...object, actor, details: { role } });
          return await startRecordedSession(context, change, { ...actor, companyId });
        });
      },
    }),
  );
