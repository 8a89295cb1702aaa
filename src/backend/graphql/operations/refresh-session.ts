import { refreshSession as refresh } from '../../../domain/accounts/session.ts';
import { bounded } from '../bounded-input.ts';
import { refusal } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const refreshSession: Declaration = (builder) =>
  builder.mutationField('refreshSession', (t) =>
    t.field({
      type: 'Session',
      description: 'New tokens for a refresh token, which is spent with it. A spent one ends the session.',
      authScopes: { anyone: true },
      args: { refreshToken: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'refreshToken', args.refreshToken);
        const refreshed = await context.parts.database.transaction(
          async (transaction) => await refresh(context.parts, transaction, token),
        );
        if (refreshed.outcome === 'refreshed') return refreshed.tokens;
        if (refreshed.outcome === 'reused') {
          const { clientAddress } = context;
          context.log.warn('a spent refresh token came back: its session is ended', {
            userId: refreshed.userId,
            clientAddress,
          });
        }
        throw refusal('UNAUTHENTICATED', 'This session is over: log in again.');
      },
    }),
  );
