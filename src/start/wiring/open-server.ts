import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { countSetAside } from '../../domain/calls/settlement/set-aside-calls.ts';
import { countWithheldUsage } from '../../domain/calls/settlement/withheld-usage.ts';
import { findLiveKeys } from '../../domain/keys/key-lookup.ts';
import { createDependencyChecks, type DependencyChecks } from '../../http/health.ts';
import {
  type ErrorBody,
  type Listening,
  type ListenOptions,
  listen,
  type SocketService,
} from '../../http/listen.ts';
import { createMetricsRoute } from '../../http/metrics.ts';
import type { DocsFiles } from '../../http/openapi.ts';
import { createServiceApp } from '../../http/service-app.ts';
import type { Database } from '../../ports/database.ts';
import { describe, StartProblem } from '../processes/lifecycle.ts';
import type { ServiceOpening } from '../processes/start-service.ts';
import { reachable } from '../settings/addresses.ts';
import { metricsAccess } from '../settings/secrets.ts';
import { secretsFindings } from './check-master-key.ts';
import type { Parts } from './connect.ts';

const DATABASE_CHECK_MS = 2_000;
const CACHE_CHECK_MS = 1_000;

/** The counts of a gateway's own journal. */
type OwnJournal = () => { readonly waiting: number; readonly setAside: number };

export function checksOf(
  {
    database,
    sharedState,
    clock,
    ownSecrets,
  }: Pick<Parts, 'database' | 'sharedState' | 'clock' | 'ownSecrets'>,
  ownJournal?: OwnJournal,
): DependencyChecks {
  const dependencies = [
    { name: 'database', timeoutMs: DATABASE_CHECK_MS, find: databaseFindings(database) },
    { name: 'cache', timeoutMs: CACHE_CHECK_MS, check: () => sharedState.check() },
    { name: 'journal', timeoutMs: DATABASE_CHECK_MS, find: journalFindings(database, ownJournal) },
    { name: 'usage', timeoutMs: DATABASE_CHECK_MS, find: usageFindings(database) },
    {
      ...{ name: 'secrets', timeoutMs: DATABASE_CHECK_MS },
      find: secretsFindings({ database, ownSecrets, clock }),
    },
  ];
  return createDependencyChecks(dependencies, clock);
}

/**
 * A standby, or a server that was set to read-only, answers but accepts no writes. One that refuses the keys or other
 * statements, such as for a revoked privilege, lets only cached keys call.
 */
function databaseFindings(database: Database) {
  return async () => {
    const [row] = await database.query<{ isReadOnly: boolean }>(
      `select current_setting('transaction_read_only')::boolean as "isReadOnly"`,
    );
    const keys = await findLiveKeys(database, [], 0);
    if (keys.outcome !== 'answered') throw keys.error;
    const isRefusing = database.trouble?.() != null;
    return { isWell: row?.isReadOnly === false && !isRefusing, figures: {} };
  };
}

/** Calls from a journal that could not be charged need an operator; calls that wait for the database do not. */
function journalFindings(database: Database, ownJournal: OwnJournal | undefined) {
  let lastCount = 0;
  return async () => {
    // If the database fails, which its own check reports, the last count is kept.
    lastCount = await countSetAside(database).catch(() => lastCount);
    const own = ownJournal?.();
    const set_aside = lastCount + (own?.setAside ?? 0);
    const waiting = own === undefined ? {} : { waiting: own.waiting };
    return { isWell: set_aside === 0, figures: { ...waiting, set_aside } };
  };
}

/** Usage that is impossible for a call, given its alias, is not charged and waits for an operator. */
function usageFindings(database: Database) {
  let withheld = 0;
  return async () => {
    withheld = await countWithheldUsage(database).catch(() => withheld);
    return { isWell: withheld === 0, figures: { withheld } };
  };
}

interface ServerChoices {
  readonly reusePort?: boolean;
  readonly sockets?: SocketService;
  readonly unavailableCode?: string;
  readonly errorBody?: ErrorBody;
}

/** Listens, or throws a one-sentence explanation. */
export function openServer(
  { configuration, clock, secrets, log, localFaults }: Parts,
  name: string,
  setting: string,
  port: number,
  fetch: ListenOptions['fetch'],
  { reusePort = false, sockets, unavailableCode, errorBody }: ServerChoices = {},
): Listening {
  const { host } = configuration;
  const network = { hostname: host, port, reusePort, unavailableCode, errorBody };
  try {
    const isShort = localFaults.lacksDescriptors;
    const server = listen({ name, fetch, ...network, sockets, isShort, clock, secrets, log });
    startFetching(server);
    return server;
  } catch (error) {
    throw new StartProblem(whyNotOpen(error, setting, port, host));
  }
}

const FIRST_FETCH_MS = 5_000;

/**
 * The runtime starts the thread of its fetch with the first request, and ends the process if there is no descriptor for it
 * then (Bun 1.4.4). So the first request is made while there are some; nothing waits for its answer.
 */
function startFetching({ url }: Listening): void {
  const signal = AbortSignal.timeout(FIRST_FETCH_MS);
  fetch(`${reachable(url)}/healthz`, { signal, keepalive: false })
    .then((answer) => answer.arrayBuffer())
    .catch(() => {});
}

function whyNotOpen(error: unknown, setting: string, port: number, host: string): string {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    return `port ${port} is in use: stop what uses it, or set ${setting} to another one`;
  }
  if (code === 'EACCES') {
    return `port ${port} needs rights that this user does not have: set ${setting} to one from 1024 on`;
  }
  // If a host name has no address, the runtime reports an arbitrary code, even that of an earlier system call.
  const reason =
    isIP(host) === 0 || code === 'EADDRNOTAVAIL' ? 'not an address of this machine' : describe(error);
  return `${setting} ${port} on HOST ${host} cannot be opened (${reason}): set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0`;
}

/** Adds `/metrics` to a surface. All other requests are passed on unchanged, at the cost of checking the end of their URL. */
export function withMetrics(
  {
    ownSecrets,
    metrics,
    ...parts
  }: Pick<ServiceOpening, 'ownSecrets' | 'metrics' | 'clock' | 'log' | 'secrets'>,
  fetch: ListenOptions['fetch'],
): ListenOptions['fetch'] {
  const access = metricsAccess(ownSecrets);
  // Without a token, metrics are not served. Only the AI service refuses to start without one.
  if (access.tokens.length === 0) return fetch;
  // Its bodies are not read.
  const app = createServiceApp({ ...parts, maxBodyBytes: Number.MAX_SAFE_INTEGER, answerTimeoutMs: null });
  app.route('/', createMetricsRoute({ access, collect: metrics.collect }));
  return (request, connection) => {
    if (!request.url.endsWith('/metrics') || new URL(request.url).pathname !== '/metrics') {
      return fetch(request, connection);
    }
    return app.fetch(request, connection);
  };
}

/** The files are opened when the page is first requested. */
export function docsFiles(): DocsFiles {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return {
    style: Bun.file(join(folder, 'swagger-ui.css')),
    script: Bun.file(join(folder, 'swagger-ui-bundle.js')),
  };
}
