import { findEntries } from '../../../domain/logs/find-entries.ts';
import { groupErrors } from '../../../domain/operations/error-groups.ts';
import { boundedOrNull } from '../bounded-input.ts';
import { hoursAgo } from '../looked-back.ts';
import { pageWish } from '../paging.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

const USUAL_HOURS = 24;

export const errorGroups: Declaration = (builder) =>
  builder.queryField('errorGroups', (t) =>
    t.field({
      type: ['ErrorGroup'],
      description:
        'What the processes logged as errors or warnings, grouped by service and message, the last seen first.',
      authScopes: { superAdmin: true },
      args: {
        level: t.arg({ type: 'LogLevel', description: 'ERROR unless told, or WARN.' }),
        hours: t.arg.int({ description: 'So far back: 1 to 168, 24 unless told.' }),
      },
      async resolve(_root, args, { parts: { database, clock } }) {
        const level = args.level ?? 'error';
        if (level !== 'error' && level !== 'warn') throw badInput('level', 'ERROR or WARN is needed');
        return [...(await groupErrors(database, level, hoursAgo(args.hours, USUAL_HOURS, clock.now())))];
      },
    }),
  );

export const logEntries: Declaration = (builder) =>
  builder.queryField('logEntries', (t) =>
    t.field({
      type: 'LogEntryConnection',
      description: 'Lines of the kept log of all processes, the newest first.',
      authScopes: { superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        minLevel: t.arg({ type: 'LogLevel', description: 'At least this level.' }),
        contains: t.arg.string({
          description: 'In the message or the context, whatever the case of its letters.',
        }),
        requestId: t.arg.string(),
      },
      async resolve(_root, args, { parts: { database } }) {
        const { limit, after } = pageWish(args);
        const text = (field: 'contains' | 'requestId') =>
          (args[field] === '' ? null : boundedOrNull('line', field, args[field])) ?? undefined;
        const found = await findEntries(database, {
          limit,
          after: after ?? undefined,
          level: args.minLevel ?? undefined,
          contains: text('contains'),
          requestId: text('requestId'),
        });
        if (found.outcome === 'invalid-cursor') {
          throw badInput('after', 'this is no cursor: give the endCursor of a page');
        }
        const { entries, nextCursor } = found;
        return { nodes: entries, hasNextPage: nextCursor !== null, endCursor: nextCursor };
      },
    }),
  );
