import { openDatabaseClock } from '../../adapters/clock/database-clock.ts';
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { isDatabaseFailure } from '../../adapters/database/failure.ts';
import { migrate } from '../../adapters/database/migrate.ts';
import { openPglite, openSharedPglite } from '../../adapters/database/pglite/pglite.ts';
import { openPostgres } from '../../adapters/database/postgres.ts';
import { readLeftSegment } from '../../adapters/journal/write-ahead-log.ts';
import { createLocalFaults } from '../../adapters/local-faults/local-faults.ts';
import {
  type ConsoleLines,
  createConsoleLines,
  createStandardOutput,
  createTerminalFormat,
  formatJsonLine,
} from '../../adapters/log/console-lines.ts';
import { createLog } from '../../adapters/log/structured-log.ts';
import { connectChannel } from '../../adapters/request-channel/unix-socket.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { isSharedStateFailure } from '../../adapters/shared-state/input-checks.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';
import { openRemoteState } from '../../adapters/shared-state/remote.ts';
import { createUnavailableState } from '../../adapters/shared-state/unavailable.ts';
import { fillEmailKeys } from '../../domain/accounts/user.ts';
import { recoverDeferredCalls } from '../../domain/calls/settlement/deferred-calls.ts';
import { createLiveLog } from '../../domain/logs/live-log.ts';
import { createStoredLog, type LogTrouble } from '../../domain/logs/log-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database, DatabaseFailure } from '../../ports/database.ts';
import type { LocalFaults } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import {
  explainForeignFiles,
  lockDataFolder,
  prepareDataFolder,
  refuseFolderOfAnother,
  usesOfDataFolder,
} from '../processes/data-folder.ts';
import { type Closing, closeAll, describe, StartProblem } from '../processes/lifecycle.ts';
import type { Configuration } from '../settings/configuration.ts';
import { type SecretsInUse, secretsInUse } from '../settings/secrets.ts';
import type { PostgresConfiguration } from '../settings/servers.ts';
import { checkMasterKey } from './check-master-key.ts';

/** The sockets of the embedded parts, in the data folder of the process that owns them. */
export const DATABASE_SOCKET = 'database.sock';
export const STATE_SOCKET = 'state.sock';
const DATABASE_THREAD = new URL('./embedded-database-thread.ts', import.meta.url);

/** Everything a process has opened. */
export interface Parts {
  readonly configuration: Configuration;
  readonly clock: Clock;
  /** For leases, due times and heartbeats, on which all processes must agree. */
  readonly databaseClock: Clock;
  readonly log: Log;
  readonly localFaults: LocalFaults;
  readonly secrets: Secrets;
  readonly ownSecrets: SecretsInUse;
  readonly database: Database;
  readonly sharedState: SharedState;
  /** The migration steps that were applied on opening. */
  readonly migrated: readonly string[];
  /** In closing order: dependents before their dependencies. */
  readonly closings: readonly Closing[];
}

/** The sockets of embedded parts that the parent of this process owns; null for parts that are servers. */
export interface AttachedParts {
  readonly database: string | null;
  readonly state: string | null;
}

/**
 * Opens the configured parts and migrates the database to this code's version. If one cannot be opened, those opened
 * before it are closed again.
 */
export async function connect(
  configuration: Configuration,
  attached: AttachedParts | null = null,
): Promise<Parts> {
  const clock = createSystemClock();
  const secrets = createSystemSecrets();
  const opened: Closing[] = [];
  const whenClosing = (name: string, close: Closing['close']) => void opened.unshift({ name, close });
  const ownLog = openLog(configuration, clock);
  const { log } = ownLog;
  whenClosing('log', ownLog.flush);
  const localFaults = createLocalFaults({ clock, log });
  whenClosing('local faults', async () => localFaults.close());
  try {
    if (configuration.postgres === null && attached === null) {
      if (configuration.role === 'command-line') refuseFolderOfAnother(configuration.dataDir);
      const folder = lockDataFolder(configuration.dataDir);
      whenClosing('data folder', folder.release);
    } else {
      const uses = usesOfDataFolder(configuration);
      if (uses.length > 0) prepareDataFolder(configuration.dataDir, uses);
    }
    const ownSecrets = secretsInUse(configuration, secrets);
    const database = await openDatabase(configuration, attached, log);
    whenClosing('database', database.close);
    const onNewerSchema = (schema: string) => log.warn(NEWER_SCHEMA, { schema });
    const migrated =
      attached === null
        ? await migrate(database, null, { onNewerSchema }).catch((error) => explain(error, configuration))
        : [];
    if (migrated.length > 0) log.info('the database was migrated', { steps: migrated });
    if (database.deferred !== undefined) await recoverDeferred(configuration, database, log);
    const duplicates = await fillEmailKeys(database);
    if (duplicates.length > 0) log.error(DUPLICATE_ADDRESSES, { users: duplicates });
    if (configuration.role !== 'command-line') await checkMasterKey({ database, ownSecrets, log });
    const databaseClock = await clockOf(configuration, { clock, database, log }, whenClosing);
    const sharedState = await openSharedState(configuration, attached, clock, log);
    whenClosing('shared state', sharedState.close);
    const logStores = ownLog.keepIn(database, sharedState);
    whenClosing('kept log', logStores.close);
    return {
      configuration,
      clock,
      databaseClock,
      log,
      localFaults,
      secrets,
      ownSecrets,
      database,
      sharedState,
      migrated,
      closings: opened,
    };
  } catch (error) {
    await closeAll(log, opened);
    throw error;
  }
}

/** The embedded database has the clock of the host. */
async function clockOf(
  configuration: Configuration,
  parts: Parameters<typeof openDatabaseClock>[0],
  whenClosing: (name: string, close: Closing['close']) => void,
): Promise<Clock> {
  if (configuration.postgres === null) return parts.clock;
  const databaseClock = await openDatabaseClock(parts);
  whenClosing('database clock', databaseClock.close);
  return databaseClock;
}

/** Shared by all gateway processes on the same data folder. */
export function journalFolder({ dataDir }: Configuration): string {
  return `${dataDir}/journal`;
}

/** Charges calls that a killed process had deferred. Without `keep`, calls that the database rejects stay in its log. */
export async function recoverDeferred(
  configuration: Configuration,
  statements: Database,
  log: Log,
  keep: Parameters<typeof recoverDeferredCalls>[0]['keep'] = async () => false,
): Promise<void> {
  const left = readLeftSegment({ folder: journalFolder(configuration), log });
  await recoverDeferredCalls({ statements, left, log, keep });
}

const NEWER_SCHEMA =
  'the database is of a newer version, which supports this one: finish the upgrade, or the way back to this version';
const DUPLICATE_ADDRESSES =
  'these accounts have an address that an older account has in another spelling: they sign in with their exact spelling only; remove one of each two';

async function openDatabase(
  configuration: Configuration,
  attached: AttachedParts | null,
  log: Log,
): Promise<Database> {
  const { postgres, statementTimeoutMs, databaseMaxWaiting: maxWaiting } = configuration;
  const bounds = { log, statementTimeoutMs, maxWaiting };
  if (postgres === null) {
    const path = attached?.database ?? null;
    if (path !== null) return await openSharedPglite({ ...bounds, connect: channelTo(path) });
    const shared = { path: `${configuration.dataDir}/${DATABASE_SOCKET}`, thread: DATABASE_THREAD };
    const isShared = configuration.role === 'everything' && !configuration.oneProcess;
    return await openPglite({
      ...{ ...bounds, folder: `${configuration.dataDir}/database` },
      ...(isShared ? { shared } : {}),
    }).catch((error) => explainForeignFiles(configuration.dataDir, error));
  }
  const applicationName = `turnpike ${configuration.role}`;
  return await openPostgres({ ...bounds, ...postgres, applicationName, isWatched: true }).catch(
    (error: unknown) => {
      const problem = `DATABASE_URL: PostgreSQL at ${whereIs(postgres)} cannot be used: ${describe(error)}`;
      throw new StartProblem(`${problem}${connectionAdvice(error)}`);
    },
  );
}

/** Advice by PostgreSQL error code, for connection errors whose message does not say what to do. */
const CONNECTION_ADVICE: Readonly<Record<string, string>> = {
  '28000': 'check the user name, and the rules of pg_hba.conf for it',
  '28P01': 'check the password, in the URL or in DATABASE_PASSWORD_FILE',
  '3D000': "create it (create database … owner … encoding 'UTF8' template template0)",
  '53300': 'raise max_connections of the server, or lower DATABASE_POOL_SIZE',
};

function connectionAdvice(error: unknown): string {
  if (!isDatabaseFailure(error)) return '';
  if (/unsupported startup parameter/i.test(error.message)) {
    return ': behind a pooler, set DATABASE_DIRECT_URL to PostgreSQL itself';
  }
  if (error.sqlState !== null) {
    const advice = CONNECTION_ADVICE[error.sqlState];
    return advice === undefined ? '' : `: ${advice}`;
  }
  if (/does not support SSL/i.test(error.message)) return ': leave sslmode out, or turn on TLS at the server';
  const isUnexplained = error.reason !== 'refused' && !error.message.includes(': ');
  return isUnexplained ? ': check that it runs, and the host and port of the URL' : '';
}

function whereIs(postgres: PostgresConfiguration): string {
  const { hostname, port } = new URL(postgres.url);
  return `${hostname}:${port || '5432'}`;
}

/** Advice by PostgreSQL error code, for migration errors whose message does not say what to do. */
const MIGRATION_ADVICE: Readonly<Record<string, string>> = {
  '42501': 'the user must own the database and what is in it (alter database … owner to …)',
  '25006': 'it must be a server that takes writes, not a standby',
  '42P07': 'use a database of its own, without tables of other programs',
};

/** Adds the database and the advice to an error with which PostgreSQL rejected the migrations. */
function explain(error: DatabaseFailure, { postgres }: Configuration): never {
  const advice = MIGRATION_ADVICE[error.sqlState ?? ''];
  if (postgres === null || advice === undefined) throw error;
  throw new StartProblem(
    `DATABASE_URL: the database at ${whereIs(postgres)} cannot be migrated: ${describe(error)}: ${advice}`,
  );
}

function channelTo(path: string) {
  // The next request notices a lost connection. If the parent ends, this process ends too.
  return (onEvent: (event: unknown) => void) => connectChannel({ path, onEvent, onClosed() {} });
}

async function openSharedState(
  configuration: Configuration,
  attached: AttachedParts | null,
  clock: Clock,
  log: Log,
): Promise<SharedState> {
  const { redis } = configuration;
  const path = attached?.state ?? null;
  if (path !== null) return await openRemoteState({ connect: channelTo(path), log });
  if (redis === null) return createInProcessState({ clock, log });
  return await openRedisState({ ...redis, log }).catch((error: unknown) => {
    const problem = `REDIS_URL: ${describe(error)}`;
    if (configuration.role !== 'command-line' || !isSharedStateFailure(error))
      throw new StartProblem(problem);
    process.stderr.write(`turnpike: ${problem} ${WITHOUT_REDIS}\n`);
    return createUnavailableState(error);
  });
}

/** Commands only announce their changes there, and what is not announced is read from the database. */
const WITHOUT_REDIS =
  'The command goes on without it: running services notice its changes by themselves, within seconds';

const STORED_LOG_TROUBLES: Readonly<Record<LogTrouble['kind'], string>> = {
  'not-written': 'log entries cannot be stored in the database yet: they are tried again',
  refused: 'the database refused log entries: they are not stored',
  'not-pruned': 'stored log entries past their retention cannot be deleted yet',
};

interface OwnLog {
  readonly log: Log;
  /** From this call on, entries are also published, and stored for the log viewer. */
  keepIn(database: Database, sharedState: SharedState): { close(): Promise<void> };
  flush(): Promise<void>;
}

/** Writes to standard output from the start; the two other sinks are added once they are open. */
function openLog(configuration: Configuration, clock: Clock): OwnLog {
  const lines = consoleLines(configuration, clock);
  const context = { process: process.pid };
  const log = createLog({ clock, level: configuration.log.level, sinks: [lines], context });
  return {
    log,
    keepIn(database, sharedState) {
      const { keepRows, keepMs } = configuration.log;
      const storedLog = createStoredLog({
        database,
        clock,
        keepRows,
        keepMs,
        onTrouble: ({ kind, error }) => log.error(STORED_LOG_TROUBLES[kind], { error }),
      });
      log.addSink(storedLog);
      log.addSink(createLiveLog({ sharedState, clock }));
      return storedLog;
    },
    flush: () => lines.flush(),
  };
}

function consoleLines(configuration: Configuration, clock: Clock): ConsoleLines {
  const output = createStandardOutput();
  const colours = output.isTerminal;
  const isText = isTextLog(configuration, output.isTerminal);
  return createConsoleLines({
    output,
    clock,
    format: isText ? createTerminalFormat({ colours }) : formatJsonLine,
  });
}

/** Text for people; JSON if a program reads the log. */
export function isTextLog({ log: { format } }: Pick<Configuration, 'log'>, isTerminal: boolean): boolean {
  return format === 'text' || (format === 'auto' && isTerminal);
}
