import { createClient } from 'graphql-ws';
import type { BackendParts } from '../../src/backend/server.ts';
import { createLiveLog } from '../../src/domain/logs/live-log.ts';
import { listen } from '../../src/http/listen.ts';
import type { LogEntry } from '../../src/ports/log.ts';
import { until } from '../doubles/until.ts';
import { openBackend } from './backend-under-test.ts';
import type { GraphqlAnswer, GraphqlError } from './graphql-client.ts';

export const WATCH =
  'subscription($minLevel: LogLevel, $contains: String) { logStream(minLevel: $minLevel, contains: $contains) { timestamp level message context } }';

export interface WatchedLine {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly context: Record<string, unknown>;
}

export interface Watch {
  readonly lines: WatchedLine[];
  /** How the subscription ended: refused with errors, completed, or by the socket's closing. */
  readonly ended: Promise<{ errors?: readonly GraphqlError[]; code?: number }>;
  stop(): void;
}

/** The real backend on a real socket, with a clock that the test moves. */
export async function openLiveLogs(changes: Partial<BackendParts> = {}) {
  const backend = await openBackend(changes);
  const { clock, log, secrets, sharedState } = backend.parts;
  const { fetch, sockets } = backend.app;
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
  const listening = listen({ name: 'backend', fetch, sockets, ...network, clock, secrets, log });
  const url = `${listening.url.replace('http', 'ws')}/graphql`;
  const live = createLiveLog({ sharedState, clock });
  const watches: Watch[] = [];

  /** With the client that people use. */
  function watch(token: string | null, variables: object = {}, query = WATCH): Watch {
    const lines: WatchedLine[] = [];
    const ended = Promise.withResolvers<{ errors?: readonly GraphqlError[]; code?: number }>();
    const client = createClient({
      url,
      retryAttempts: 0,
      connectionParams: token === null ? {} : { Authorization: `Bearer ${token}` },
    });
    const request = { query, variables: { ...variables } };
    client.subscribe<{ logStream: WatchedLine }>(request, {
      next({ data, errors }) {
        if (data != null) lines.push(data.logStream);
        else ended.resolve({ errors: errors as GraphqlAnswer<never>['errors'] & {} });
      },
      error(error) {
        if (Array.isArray(error)) ended.resolve({ errors: error });
        else ended.resolve({ code: (error as { code?: number }).code ?? 0 });
      },
      complete: () => ended.resolve({}),
    });
    // It rejects where the connection fails before it is open.
    const stop = () => void Promise.resolve(client.dispose()).catch(() => {});
    const watched = { lines, ended: ended.promise, stop };
    watches.push(watched);
    return watched;
  }

  return {
    ...backend,
    url,
    watch,
    /** As many watchers as that have been let in. */
    watchers: async (count: number) => await until(() => backend.parts.logWatchers.count() === count),
    say(level: LogEntry['level'], message: string, context: LogEntry['context'] = {}) {
      live.take({ timestamp: new Date(clock.now()).toISOString(), level, message, context });
    },
    /** Lines gather for a moment before they go out. */
    pass: async (ms = 25) => await backend.clock.advance(ms),
    /** Looks at the rights are taken again only after the one before has come back from the database, so a single step of the clock may meet none that waits. */
    async end(watching: Watch) {
      let hasEnded = false;
      void watching.ended.then(() => {
        hasEnded = true;
      });
      await until(async () => {
        if (!hasEnded) await backend.clock.advance(5_000);
        return hasEnded;
      });
      return await watching.ended;
    },
    drain: () => listening.drain(0),
    async close() {
      for (const { stop } of watches) stop();
      await listening.drain(0);
      await backend.parts.logWatchers.close();
      await backend.close();
    },
  };
}

export type LiveLogsUnderTest = Awaited<ReturnType<typeof openLiveLogs>>;
