import { resetPassword as reset } from '../../../domain/accounts/passwords.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { hashNewPassword } from '../new-password.ts';
import { recordedChange } from '../recorded-change.ts';
import { refusal } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from '../start-recorded-session.ts';

export const resetPassword: Declaration = (builder) =>
  builder.mutationField('resetPassword', (t) =>
    t.field({
      type: 'Session',
      description: 'Sets a new password with the token of a mail, once. All other sessions end.',
      authScopes: { anyone: true },
      args: { token: t.arg.string({ required: true }), password: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'token', args.token);
        await countAttempt(context, 'token');
        const passwordHash = await hashNewPassword(context, 'password', args.password);
        return await recordedChange(context, async (change) => {
          const user = await reset(context.parts, change.transaction, { token, passwordHash });
          if (user === null) {
            throw refusal('NOT_FOUND', 'This link is used or too old: ask for a new one.');
          }
          const object = { objectKind: 'user', objectId: user.id, companyId: user.companyId };
          await change.record({ action: 'password.reset', ...object, actor: user });
          return await startRecordedSession(context, change, user);
        });
      },
    }),
  );
