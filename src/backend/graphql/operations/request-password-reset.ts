import { requestPasswordReset as request } from '../../../domain/accounts/passwords.ts';
import { bounded } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { rateLimited } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const requestPasswordReset: Declaration = (builder) =>
  builder.mutationField('requestPasswordReset', (t) =>
    t.boolean({
      description:
        'Mails a link to whoever has the address. The answer is true, whether or not somebody has.',
      authScopes: { anyone: true },
      args: { email: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const email = bounded('email', 'email', args.email);
        const counted = await context.parts.attempts.count('reset', context.clientAddress, email);
        if (counted.outcome === 'refused') {
          // A full mailbox is spared in silence: another answer would tell who has an account.
          if (counted.by === 'account') return true;
          throw rateLimited(counted.retryAfterMs);
        }
        await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const user = await request(context.parts, transaction, email);
          if (user === null) return nothingChanged();
          const object = { objectKind: 'user', objectId: user.id, companyId: user.companyId };
          await record({ action: 'password.reset-requested', ...object });
        });
        return true;
      },
    }),
  );
