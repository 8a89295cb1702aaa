import { endSession as end } from '../../../domain/accounts/end-sessions.ts';
import { signedIn } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const endSession: Declaration = (builder) =>
  builder.mutationField('endSession', (t) =>
    t.boolean({
      description: 'Ends one of the caller’s own sessions.',
      authScopes: { signedIn: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { id: userId } = await signedIn(context);
        const sessionId = idOf('session', args.id);
        const now = new Date(context.parts.clock.now());
        await recordedChange(context, async ({ transaction, record }) => {
          if (!(await end(transaction, { userId, sessionId, now }))) throw notFound('session');
          await record({ action: 'session.ended', objectKind: 'session', objectId: sessionId });
        });
        return true;
      },
    }),
  );
