import { endSessionByToken } from '../../../domain/accounts/end-sessions.ts';
import { bounded } from '../bounded-input.ts';
import { type Change, recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

export const logout: Declaration = (builder) =>
  builder.mutationField('logout', (t) =>
    t.boolean({
      description: 'Ends the session of the refresh token; one that is over stays over.',
      authScopes: { anyone: true },
      args: { refreshToken: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { secrets, clock } = context.parts;
        const token = bounded('secret', 'refreshToken', args.refreshToken);
        const now = new Date(clock.now());
        await recordedChange(context, async ({ transaction, record, nothingChanged }: Change) => {
          const ended = await endSessionByToken(transaction, secrets, token, now);
          if (ended === null) return nothingChanged();
          const actor = { id: ended.userId, email: ended.email };
          const object = { objectKind: 'session', objectId: ended.id, companyId: ended.companyId };
          await record({ action: 'session.ended', ...object, actor });
        });
        return true;
      },
    }),
  );
