import type { LogWatcher } from '../../../domain/logs/log-watchers.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { LogEntry } from '../../../ports/log.ts';
import { boundedOrNull } from '../bounded-input.ts';
import { refusal } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** What the subscription gives: entries one by one, or, to whoever knows the watcher, as they gather. */
export interface WatchedLog extends AsyncIterable<LogEntry> {
  readonly watcher: LogWatcher;
}

/** P-13. It is served over WebSocket alone, see live-logs.ts. */
export const logStream: Declaration = (builder) => {
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
          description: 'In the message or the context, whatever the case of its letters.',
        }),
        announced: t.arg.boolean({
          description:
            'The first line then says that the log is watched from now on, with `watching: true` in its context.',
        }),
      },
      async subscribe(_root, args, { parts }) {
        const contains = args.contains === '' ? null : boundedOrNull('line', 'contains', args.contains);
        const watching = await parts.logWatchers.watch({ minLevel: args.minLevel ?? null, contains });
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

/** GraphQL over WebSocket has no word for a subscription that has begun, and a quiet log would not tell. */
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
