import { authenticate } from '../../../domain/accounts/user.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { recordedChange } from '../recorded-change.ts';
import { refusal } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from '../start-recorded-session.ts';

/** P-8. An unknown address and a wrong password get the same answer, after the same time. */
export const login: Declaration = (builder) =>
  builder.mutationField('login', (t) =>
    t.field({
      type: 'Session',
      authScopes: { anyone: true },
      args: { email: t.arg.string({ required: true }), password: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { database, secrets, attempts } = context.parts;
        const email = bounded('email', 'email', args.email);
        const password = bounded('secret', 'password', args.password);
        await countAttempt(context, 'log-in', email);
        const user = await authenticate(database, secrets, email, password);
        if (user === null) {
          context.log.info('a log-in was refused', { clientAddress: context.clientAddress });
          throw refusal('UNAUTHENTICATED', 'The e-mail address or the password is wrong.');
        }
        await attempts.forgive('log-in', email);
        return await recordedChange(context, (change) => startRecordedSession(context, change, user));
      },
    }),
  );
