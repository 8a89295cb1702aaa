import type { LogWatcher } from '../../../domain/logs/live-log.ts';
import { type ErrorGroup, findEntries, groupErrors } from '../../../domain/logs/log-queries.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { LogEntry, LogLevel } from '../../../ports/log.ts';
import { badInput, refusal } from '../errors.ts';
import { boundedOrNull, hoursAgo } from '../input.ts';
import { defineConnection, type Page, pageArgs, wrongCursor } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    LogEntry: LogEntry;
    LogEntryConnection: Page<LogEntry>;
    ErrorGroup: ErrorGroup;
  }
  interface SchemaScalars {
    LogLevel: LogLevel;
  }
}

/** What the subscription yields: single entries, or batches for callers that read the watcher directly. */
export interface WatchedLog extends AsyncIterable<LogEntry> {
  readonly watcher: LogWatcher;
}

const logEntryObject: Declaration = (builder) => {
  builder.enumType('LogLevel', {
    values: {
      DEBUG: { value: 'debug' },
      INFO: { value: 'info' },
      WARN: { value: 'warn' },
      ERROR: { value: 'error' },
    } as const,
  });
  builder.objectType('LogEntry', {
    description: 'A log line of any process. Secrets are removed before a line is written.',
    fields: (t) => ({
      timestamp: t.field({ type: 'DateTime', resolve: ({ timestamp }) => new Date(timestamp) }),
      level: t.expose('level', { type: 'LogLevel' }),
      message: t.exposeString('message'),
      context: t.expose('context', { type: 'JSON', nullable: true }),
    }),
  });
  defineConnection(builder, 'LogEntry');
};

const errorGroupObject: Declaration = (builder) => {
  builder.objectType('ErrorGroup', {
    description: 'Log lines with the same message and service.',
    fields: (t) => ({
      service: t.exposeString('service', {
        description: 'Empty for what all services of a process have in common.',
      }),
      message: t.exposeString('message'),
      count: t.exposeInt('count'),
      firstSeenAt: t.expose('firstSeenAt', { type: 'DateTime' }),
      lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime' }),
      sampleRequestId: t.exposeString('sampleRequestId', {
        nullable: true,
        description: 'Of the last line that has one.',
      }),
      sampleReason: t.exposeString('sampleReason', { nullable: true }),
    }),
  });
};

const SERVICE_FILTER = 'gateway, backend, ai-service, or shared for lines of none of them.';
type TextFilter = 'contains' | 'requestId' | 'service' | 'companyId';

/** Null if the filter is left out or empty. */
function textFilter(
  args: Readonly<Partial<Record<TextFilter, string | number | null | undefined>>>,
  field: TextFilter,
): string | null {
  const value = args[field];
  return value == null || value === '' ? null : boundedOrNull('line', field, String(value));
}

const logEntries: Declaration = (builder) =>
  builder.queryField('logEntries', (t) =>
    t.field({
      type: 'LogEntryConnection',
      description: 'Stored log lines of all processes, the newest first.',
      authScopes: { superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        minLevel: t.arg({ type: 'LogLevel', description: 'At least this level.' }),
        contains: t.arg.string({
          description: 'In the message or the context. Not case-sensitive.',
        }),
        requestId: t.arg.string(),
        service: t.arg.string({ description: SERVICE_FILTER }),
        companyId: t.arg.id(),
        from: t.arg({ type: 'DateTime', description: 'Not before.' }),
        to: t.arg({ type: 'DateTime', description: 'Before.' }),
      },
      async resolve(_root, args, { parts: { database } }) {
        const { limit, after } = pageArgs(args);
        const text = (field: TextFilter) => textFilter(args, field) ?? undefined;
        const found = await findEntries(database, {
          limit,
          after: after ?? undefined,
          level: args.minLevel ?? undefined,
          contains: text('contains'),
          requestId: text('requestId'),
          service: text('service'),
          companyId: text('companyId'),
          from: args.from ?? undefined,
          to: args.to ?? undefined,
        });
        if (found.outcome === 'invalid-cursor') {
          throw wrongCursor();
        }
        const { entries, nextCursor } = found;
        return { nodes: entries, hasNextPage: nextCursor !== null, endCursor: nextCursor };
      },
    }),
  );

const errorGroups: Declaration = (builder) =>
  builder.queryField('errorGroups', (t) =>
    t.field({
      extensions: { maxRows: 200 } satisfies FieldSize,
      type: ['ErrorGroup'],
      description:
        'What the processes logged as errors or warnings, grouped by service and message, the last seen first.',
      authScopes: { superAdmin: true },
      args: {
        level: t.arg({ type: 'LogLevel', description: 'ERROR or WARN. Default ERROR.' }),
        hours: t.arg.int({ description: 'The period before now in hours, 1 to 168. Default 24.' }),
      },
      async resolve(_root, args, { parts: { database, clock } }) {
        const level = args.level ?? 'error';
        if (level !== 'error' && level !== 'warn') throw badInput('level', 'ERROR or WARN is needed');
        return [...(await groupErrors(database, level, hoursAgo(args.hours, clock.now())))];
      },
    }),
  );

/** P-13. Served over WebSocket only, see live-logs/live-logs.ts. */
const logStream: Declaration = (builder) => {
  builder.subscriptionType({});
  builder.subscriptionField('logStream', (t) =>
    t.field({
      type: 'LogEntry',
      description:
        'What all processes log, as it happens, over WebSocket (graphql-transport-ws). Who reads too slowly loses ' +
        'lines, and a line with `lostLines` in its context says how many.',
      authScopes: { superAdmin: true },
      args: {
        minLevel: t.arg({ type: 'LogLevel', description: 'At least this level.' }),
        contains: t.arg.string({
          description: 'In the message or the context. Not case-sensitive.',
        }),
        service: t.arg.string({ description: SERVICE_FILTER }),
        requestId: t.arg.string(),
        companyId: t.arg.id(),
        announced: t.arg.boolean({
          description:
            'The first line then says that the log is watched from now on, with `watching: true` in its context.',
        }),
      },
      async subscribe(_root, args, { parts }) {
        const watching = await parts.logWatchers.watch({
          minLevel: args.minLevel ?? null,
          contains: textFilter(args, 'contains'),
          service: textFilter(args, 'service'),
          requestId: textFilter(args, 'requestId'),
          companyId: textFilter(args, 'companyId'),
        });
        if (watching.outcome === 'too-many') {
          throw refusal('RATE_LIMITED', `The log has ${watching.most} watchers already. Try again later.`);
        }
        const { watcher } = watching;
        return watchedLog(args.announced === true ? announced(watcher, parts.clock) : watcher);
      },
      resolve: (entry) => entry,
    }),
  );
};

/** GraphQL over WebSocket has no message for a started subscription, and a quiet log would send nothing. */
function announced(watcher: LogWatcher, clock: Clock): LogWatcher {
  const timestamp = new Date(clock.now()).toISOString();
  let first: LogEntry | null = {
    ...{ timestamp, level: 'debug', message: 'the log is watched from now on', context: { watching: true } },
  };
  return {
    ...watcher,
    async next() {
      const line = first;
      first = null;
      return line === null ? await watcher.next() : [line];
    },
  };
}

function watchedLog(watcher: LogWatcher): WatchedLog {
  return {
    watcher,
    async *[Symbol.asyncIterator]() {
      try {
        for (let lines = await watcher.next(); lines !== null; lines = await watcher.next()) yield* lines;
      } finally {
        watcher.close();
      }
    },
  };
}

export const logDeclarations: readonly Declaration[] = [
  logEntryObject,
  errorGroupObject,
  logEntries,
  errorGroups,
  logStream,
];
