import { SQL } from 'bun';
import type { Clock } from '../../ports/clock.ts';
import {
  causeOfSqlState,
  type Database,
  type QueryOptions,
  type Row,
  reasonOfSqlState,
  type SqlValue,
  type Statements,
  type Transaction,
} from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { databaseFailure, isDatabaseFailure } from './failure.ts';
import { createServerWatch, type ServerWatch } from './server-watch.ts';
import { createWaitQueue } from './wait-queue.ts';

export interface PostgresOptions {
  readonly url: string;
  /**
   * The server itself, if `url` is a pooler in transaction mode. Each transaction of a pooler may get another connection of
   * the server, so statements are not prepared, sessions have no settings, and LISTEN uses this address.
   */
  readonly directUrl?: string | null;
  /** Replaces the password in the URLs; read for each connection. */
  readonly password?: (() => string) | null;
  /** CA certificates as PEM. If set, every connection uses TLS and verifies the server. */
  readonly ca?: string | null;
  readonly log: Log;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly poolSize: number;
  readonly maxWaiting: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly oldestVersion?: number;
  /** Whether statements fail at once while the server answers nothing. Tests on a busy machine omit it. */
  readonly isWatched?: boolean;
  readonly clock?: Pick<Clock, 'after' | 'uptimeMs'>;
}

const OLDEST_VERSION = 15;
/** How long we wait beyond the server's own time-out before the connection counts as dead. */
const DEADLINE_MARGIN_MS = 1_000;
const CLOSE_SECONDS = 5;
/** A probe's connection is kept this long, for the next one. */
const PROBE_IDLE_SECONDS = 30;
const PROBE_MS = 10_000;

type Client = InstanceType<typeof SQL>;
type Runner = Pick<Client, 'unsafe'>;

/**
 * PostgreSQL through Bun's client. The server cancels statements after `statementTimeoutMs`. A server that does not answer
 * at all (paused, or behind a broken network) cannot do that: if a statement exceeds its time-out and a margin, its
 * connection is dead, and the whole pool is replaced and then closed. Before that, its silence is noticed (server-watch.ts).
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { log, poolSize, statementTimeoutMs } = options;
  const line = createWaitQueue(poolSize, options.maxWaiting);
  let client = connect(options, poolSize);
  let listening: Client | null = null;
  const troubles = createTroubles(options.clock ?? machineTime);
  const watch = options.isWatched === true ? watchServer() : null;

  function watchServer(): ServerWatch {
    const prober = createProber(options);
    let suspected = client;
    const watched = createServerWatch({
      time: options.clock ?? machineTime,
      probe: prober.probe,
      onSilent(failure) {
        suspected = client;
        line.refuseWaiting(failure);
        log.warn('the database does not answer: statements fail at once until it does');
      },
      onAnswering() {
        log.info('the database answers again');
        // After a failover the old connections lead nowhere.
        replaceClient(suspected);
      },
    });
    return {
      ...watched,
      close() {
        watched.close();
        prober.close();
      },
    };
  }

  function replaceClient(dead: Client): void {
    if (dead !== client) return;
    log.warn('the database gave no answer; its connections are replaced', { poolSize });
    client = connect(options, poolSize);
    // Statements of the old pool may still finish; the others are then rejected.
    dead.close({ timeout: CLOSE_SECONDS }).catch(() => {});
  }

  async function run<T>(
    timeoutMs: number,
    work: (client: Client) => Promise<T>,
    failsFast = false,
  ): Promise<T> {
    if (watch?.isSilent() === true) throw watch.failure();
    const leave = await line.enter(statementTimeoutMs);
    const used = client;
    try {
      const bounded = withDeadline(work(used), timeoutMs + DEADLINE_MARGIN_MS, () => replaceClient(used));
      return await (watch === null ? bounded : watch.follow(bounded, failsFast));
    } finally {
      leave();
    }
  }

  const database: Database = {
    engine: 'postgres',
    query: <R>(text: string, values?: readonly SqlValue[], { failsFast }: QueryOptions = {}) =>
      run(statementTimeoutMs, (used) => troubles.note(text, queryOn<R>(used, text, values)), failsFast),
    script: (text) => run(statementTimeoutMs, (used) => scriptOnOneConnection(used, text)),
    transaction: (work, { timeoutMs = statementTimeoutMs } = {}) =>
      run(timeoutMs, (used) => transactionOn(used, { timeoutMs, statementTimeoutMs, troubles }, work)),
    async listen(channel, onMessage, onReconnect) {
      listening ??= connect({ ...options, url: options.directUrl ?? options.url, directUrl: null }, 1);
      const subscription = await listening.listen(channel, onMessage, onReconnect).catch((error) => {
        throw toFailure(error);
      });
      return { close: async () => void (await subscription.unlisten()) };
    },
    pool: () => ({ size: poolSize, busy: line.busy(), waiting: line.waiting() }),
    trouble: troubles.last,
    async close() {
      watch?.close();
      line.close();
      await Promise.all([client.close({ timeout: CLOSE_SECONDS }), listening?.close({ timeout: 0 })]);
    },
  };
  try {
    await refuseUnfitServer(database, options.oldestVersion ?? OLDEST_VERSION);
    if (isPooled(options)) await warnOfMissingSettings(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

interface Prober {
  /** Resolves if the server answers. */
  probe(): Promise<unknown>;
  close(): void;
}

/** The connection is replaced after a probe without an answer: what it leads to may be gone. */
function createProber(options: PostgresOptions): Prober {
  let client: Client | null = null;
  const close = () => {
    client?.close({ timeout: 0 }).catch(() => {});
    client = null;
  };
  return {
    async probe() {
      client ??= connect(options, 1, PROBE_IDLE_SECONDS);
      try {
        return await withDeadline(queryOn(client, 'select 1'), PROBE_MS, () => {});
      } catch (error) {
        close();
        throw error;
      }
    },
    close,
  };
}

/** How long a refused statement counts that nobody has repeated. */
const TROUBLE_MS = 60_000;
const MOST_TROUBLES = 100;

interface Troubles {
  note<T>(text: string, statement: Promise<T>): Promise<T>;
  last(): string | null;
}

/** Statements that the server has refused for a reason of its own, until the same statement succeeds. */
function createTroubles({ uptimeMs }: Pick<Clock, 'uptimeMs'>): Troubles {
  const refused = new Map<string, { readonly message: string; readonly atMs: number }>();
  return {
    async note(text, statement) {
      try {
        const result = await statement;
        if (refused.size > 0) refused.delete(text);
        return result;
      } catch (error) {
        if (isDatabaseFailure(error) && causeOfSqlState(error.sqlState ?? '') === 'object') {
          if (refused.size >= MOST_TROUBLES) refused.clear();
          refused.set(text, { message: error.message, atMs: uptimeMs() });
        }
        throw error;
      }
    },
    last() {
      for (const [text, { message, atMs }] of refused) {
        if (uptimeMs() - atMs < TROUBLE_MS) return message;
        refused.delete(text);
      }
      return null;
    },
  };
}

const machineTime: Pick<Clock, 'after' | 'uptimeMs'> = {
  uptimeMs: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

function connect(options: PostgresOptions, max: number, idleTimeout = 0): Client {
  return new SQL({
    url: options.url,
    adapter: 'postgres',
    max,
    bigint: true,
    idleTimeout,
    connectionTimeout: Math.ceil(options.connectTimeoutMs / 1000),
    prepare: !isPooled(options),
    ...(options.ca == null ? {} : { tls: { ca: options.ca } }),
    ...(options.password == null ? {} : { password: options.password }),
    connection: {
      application_name: options.applicationName,
      ...(isPooled(options)
        ? {}
        : {
            // These statements run faster than JIT compilation takes.
            jit: 'off',
            statement_timeout: String(options.statementTimeoutMs),
            idle_in_transaction_session_timeout: String(options.statementTimeoutMs),
          }),
    },
  });
}

function isPooled({ directUrl }: PostgresOptions): boolean {
  return directUrl !== undefined && directUrl !== null;
}

/**
 * Poolers ignore connection settings. Set them on the role: otherwise hanging statements are never cancelled, and statements
 * of a millisecond are JIT-compiled for thirty.
 */
async function warnOfMissingSettings(
  database: Database,
  { log, statementTimeoutMs }: PostgresOptions,
): Promise<void> {
  const [row] = await database.query<{ statement: string; idle: string; jit: string }>(
    `select current_setting('statement_timeout') as statement,
       current_setting('idle_in_transaction_session_timeout') as idle, current_setting('jit') as jit`,
  );
  if (row?.jit !== 'off') {
    const todo = 'alter role … set jit = off';
    log.warn(
      'behind a pooler the database may compile statements for longer than they run: turn jit off for its role',
      {
        todo,
      },
    );
  }
  if (row?.statement !== '0' && row?.idle !== '0') return;
  log.warn('behind a pooler the database ends no statement by itself: set both time-outs for its role', {
    todo: `alter role … set statement_timeout = ${statementTimeoutMs}; alter role … set idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
  });
}

async function queryOn<R>(runner: Runner, text: string, values: readonly SqlValue[] = []): Promise<R[]> {
  const rows: R[] = await runner.unsafe(text, values as unknown[]).catch(rethrow);
  for (const row of rows as Row[]) makeListsPlain(row);
  return rows;
}

/** For a statement with parameters, Bun's client returns integer[] and real[] as typed arrays, which are not arrays in JSON. */
function makeListsPlain(row: Row): void {
  for (const name in row) {
    const value = row[name];
    if (value instanceof Int32Array || value instanceof Float32Array) row[name] = [...value];
  }
}

async function scriptOn(runner: Runner, text: string): Promise<Row[]> {
  // Without parameters Bun uses the simple protocol: one list of rows, or one per statement.
  const results: Row[] | Row[][] = await runner.unsafe(text).catch(rethrow);
  return (results as unknown[]).some(Array.isArray) ? (results as Row[][]).flat() : (results as Row[]);
}

/** A script may begin its own transaction, so it needs a single connection, and a rollback if it fails. */
async function scriptOnOneConnection(client: Client, text: string): Promise<Row[]> {
  if (!/^\s*begin\b/i.test(text)) return await scriptOn(client, text);
  const connection = await client.reserve().catch(rethrow);
  try {
    return await scriptOn(connection, text);
  } catch (error) {
    await connection.unsafe('rollback').catch(() => {});
    throw error;
  } finally {
    connection.release();
  }
}

interface TransactionBounds {
  readonly timeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly troubles: Troubles;
}

async function transactionOn<T>(
  client: Client,
  { timeoutMs, statementTimeoutMs, troubles }: TransactionBounds,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  let failed: { readonly error: unknown } | null = null;
  const transacted = client.begin(async (connection) => {
    if (timeoutMs > statementTimeoutMs) {
      const limit = Math.ceil(timeoutMs);
      await connection.unsafe(
        `set local statement_timeout = ${limit}; set local idle_in_transaction_session_timeout = ${limit}`,
      );
    }
    const transaction = guardedStatements(connection, troubles);
    try {
      return await withDeadline(work(transaction), timeoutMs, () => {});
    } catch (error) {
      failed = { error };
      throw error;
    } finally {
      transaction.end();
    }
  });
  return await transacted.catch((error: unknown) => {
    // What the work itself throws is not the database's.
    throw failed !== null && failed.error === error ? error : toFailure(error);
  });
}

/** Statements that fail after their transaction has ended: on a pool they would silently run outside of it. */
function guardedStatements(connection: Runner, troubles: Troubles): Transaction & { end(): void } {
  let ended = false;
  const open = () => {
    if (ended) throw databaseFailure('refused', 'the transaction has ended', { sqlState: '25P01' });
    return connection;
  };
  const statements: Statements = {
    query: async <R>(text: string, values?: readonly SqlValue[]) =>
      await troubles.note(text, queryOn<R>(open(), text, values)),
    script: async (text) => await scriptOn(open(), text),
  };
  const end = () => {
    ended = true;
  };
  return { ...statements, isTransaction: true, end };
}

function withDeadline<T>(work: Promise<T>, timeoutMs: number, onDeadline: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(databaseFailure('time-out', `the database took longer than ${timeoutMs} ms`));
      onDeadline();
    }, timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

async function refuseUnfitServer(database: Database, oldest: number): Promise<void> {
  const [row] = await database.query<{ version: string; encoding: string }>(
    "select current_setting('server_version') as version, current_setting('server_encoding') as encoding",
  );
  const { version = '0', encoding = '' } = row ?? {};
  if (Number.parseInt(version, 10) < oldest) {
    throw databaseFailure(
      'refused',
      `PostgreSQL ${version} is too old: version ${oldest} or newer is needed`,
    );
  }
  // Other encodings lack characters, and SQL_ASCII counts lengths in bytes.
  if (encoding !== 'UTF8') {
    throw databaseFailure(
      'refused',
      `its database has the encoding ${encoding}: create it with UTF8 (create database … encoding 'UTF8' template template0)`,
    );
  }
}

function rethrow(error: unknown): never {
  throw toFailure(error);
}

/** What to do if the server's certificate is not accepted. */
function certificateProblem(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code, message } = error;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is for another name (${message}): use a name of the certificate as the host`;
  }
  if (!/CERT|UNABLE_TO_VERIFY/.test(code)) return null;
  return `its certificate is not trusted (${message}): set DATABASE_CA_FILE to the certificates of its authority`;
}

const SQL_STATE = /^[0-9A-Z]{5}$/;

/**
 * Bun puts the SQLSTATE into `errno`; its own connection errors have none. Errors of other kinds are those of TLS, of the
 * system and of the file with the password, except for values that cannot be sent.
 */
function toFailure(error: unknown): unknown {
  if (isDatabaseFailure(error) || error instanceof TypeError || error instanceof RangeError) return error;
  const distrust = certificateProblem(error);
  if (distrust !== null) return databaseFailure('unavailable', distrust, { cause: error });
  if (!(error instanceof SQL.PostgresError)) {
    const message = error instanceof Error ? error.message : String(error);
    return databaseFailure('unavailable', message, { cause: error });
  }
  const { errno, constraint, message } = error;
  if (typeof errno === 'string' && SQL_STATE.test(errno)) {
    const details = { sqlState: errno, constraint: constraint ?? null, cause: error };
    return databaseFailure(reasonOfSqlState(errno), message, details);
  }
  if (message.startsWith('COMMIT was rolled back')) {
    return databaseFailure('refused', message, { sqlState: '25P02', cause: error });
  }
  return databaseFailure('unavailable', message, { cause: error });
}
