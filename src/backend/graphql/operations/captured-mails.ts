import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const capturedMails: Declaration = (builder) =>
  builder.queryField('capturedMails', (t) =>
    t.field({
      type: 'CapturedMailConnection',
      nullable: true,
      description: 'Mail that was kept in place of a mail server, the newest first; null where mail is sent.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageWish(args);
        if (parts.capturedMail === undefined) return null;
        // The folder lists at most 100 at a time, so that the last page of 100 cannot know of another one.
        const heads = await parts.capturedMail.list(limit + 1, after ?? undefined);
        return pageOf(heads, limit, ({ id }) => id);
      },
    }),
  );
