import { listSessions } from '../../../domain/accounts/end-sessions.ts';
import { signedIn } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const sessions: Declaration = (builder) =>
  builder.queryField('sessions', (t) =>
    t.field({
      type: ['LiveSession'],
      description: 'Where the caller is logged in, the newest first.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const { id } = await signedIn(context);
        const { database, clock } = context.parts;
        return [...(await listSessions(database, id, new Date(clock.now())))];
      },
    }),
  );
