import { listMeetings } from '../../../domain/meetings/list-meetings.ts';
import { member } from '../access.ts';
import { idCursor, pageOf, pageWish } from '../paging.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const meetings: Declaration = (builder) =>
  builder.queryField('meetings', (t) =>
    t.field({
      type: 'MeetingConnection',
      description: 'The company’s meetings, the newest first.',
      authScopes: { member: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        return await page(context, companyId, args);
      },
    }),
  );

export const unannouncedMeetings: Declaration = (builder) =>
  builder.queryField('unannouncedMeetings', (t) =>
    t.field({
      type: 'MeetingConnection',
      description:
        'What happened in rooms that no company had announced, the newest first. Kept for 30 days.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      resolve: (_root, args, context) => page(context, null, args),
    }),
  );

async function page(
  { parts: { database } }: RequestContext,
  companyId: string | null,
  args: Parameters<typeof pageWish>[0],
) {
  const { limit, after } = pageWish(args);
  const rows = await listMeetings(database, companyId, { limit: limit + 1, after: idCursor(after) });
  return pageOf(rows, limit, ({ id }) => id);
}
