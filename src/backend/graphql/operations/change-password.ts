import { setPassword } from '../../../domain/accounts/passwords.ts';
import { authenticate } from '../../../domain/accounts/user.ts';
import { signedIn } from '../access.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { newPassword } from '../new-password.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from '../start-recorded-session.ts';

export const changePassword: Declaration = (builder) =>
  builder.mutationField('changePassword', (t) =>
    t.field({
      type: 'Session',
      description: 'All sessions of the caller end, and the answer is a new one.',
      authScopes: { signedIn: true },
      args: {
        currentPassword: t.arg.string({ required: true }),
        newPassword: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        const { database, secrets, clock } = context.parts;
        const viewer = await signedIn(context);
        const current = bounded('secret', 'currentPassword', args.currentPassword);
        const wanted = newPassword('newPassword', args.newPassword);
        // Counted as a log-in: a stolen access token must not be a way to guess the password.
        await countAttempt(context, 'log-in', viewer.email);
        if ((await authenticate(database, secrets, viewer.email, current)) === null) {
          throw badInput('currentPassword', 'this is not the password');
        }
        const hash = await secrets.hashPassword(wanted);
        return await recordedChange(context, async (change) => {
          await setPassword(change.transaction, viewer.id, hash, new Date(clock.now()));
          await change.record({ action: 'password.changed', objectKind: 'user', objectId: viewer.id });
          return await startRecordedSession(context, change, viewer);
        });
      },
    }),
  );
