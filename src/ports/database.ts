/**
 * PostgreSQL: a server, or embedded in this process. The same SQL runs on both, so it is limited to PostgreSQL 15.
 *
 * Results have the same types on both: bigint as BigInt (count(*) too), integer and float8 as number, numeric as string,
 * timestamptz as Date, json and jsonb parsed, bytea as Uint8Array, uuid and text as string, arrays as arrays.
 * So do parameters. A JSON column takes an object or an array, never a string of JSON: the two engines read such a string
 * differently.
 */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | readonly SqlValue[]
  | { readonly [key: string]: unknown };

export type Row = Record<string, unknown>;

export interface Statements {
  /** One statement, with parameters as $1, $2 … */
  query<R = Row>(text: string, values?: readonly SqlValue[], options?: QueryOptions): Promise<R[]>;
  /** Several statements without parameters in one round trip. Returns the rows of all of them, in order. */
  script(text: string): Promise<Row[]>;
}

export interface QueryOptions {
  /**
   * The statement has no data in common with deferred writes, so it does not wait for them. For frequent statements: each
   * one that waits makes the groups of deferred writes smaller.
   */
  readonly isIndependent?: boolean;
  /**
   * Fails as soon as the server is known not to answer, and not at its own time-out: for what a request waits for, and
   * that may be repeated.
   */
  readonly failsFast?: boolean;
}

/** The same statements, which all fail as soon as the server is known not to answer. */
export function failingFast<Given extends Statements>(statements: Given): Given {
  return {
    ...statements,
    query: (text, values, options) => statements.query(text, values, { ...options, failsFast: true }),
  };
}

/** Using it after its `work` has ended fails. */
export interface Transaction extends Statements {
  readonly isTransaction: true;
}

export interface Database extends Statements {
  readonly engine: 'postgres' | 'pglite';
  /**
   * Commits when `work` resolves, rolls back when it rejects. Rolls back after the configured time: a transaction holds
   * locks that others wait for (on the embedded engine, all others).
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    options?: { readonly timeoutMs?: number },
  ): Promise<T>;
  /** `onReconnect` runs after every subscription, including the first: earlier notifications may be lost. */
  listen(channel: string, onMessage: (payload: string) => void, onReconnect: () => void): Promise<Listener>;
  pool(): PoolStatus;
  /** Why the server refuses statements at the moment, such as a missing privilege; null if it refuses none. */
  trouble?(): string | null;
  /** Only for an engine that runs in this process. */
  readonly deferred?: DeferredWrites;
  /** Waits for running statements up to a few seconds, then closes. */
  close(): Promise<void>;
}

/**
 * Writes that are deferred so that many are committed together. This is not visible to readers: deferred writes run
 * before the next statement or transaction of this or another process, except independent ones. Until then they must be
 * durable elsewhere.
 */
export interface DeferredWrites {
  /** Sets the function that writes them. It runs one at a time, must not reject, and its statements do not wait for deferred writes. */
  writeBy(write: (statements: Statements) => Promise<void>): void;
  /** Announces a deferred write. */
  add(): void;
  isEmpty(): boolean;
  /** Resolves when everything deferred until now is written. */
  flush(): Promise<void>;
}

export interface Listener {
  close(): Promise<void>;
}

export interface PoolStatus {
  readonly size: number;
  readonly busy: number;
  readonly waiting: number;
}

/**
 * The fields of every Error of a database. `unavailable`, `time-out` and `busy` say nothing about the statement itself:
 * `refused` is a fault of ours. After `unavailable` or `time-out` it is unknown whether a statement took effect.
 */
export interface DatabaseFailure extends Error {
  readonly name: 'DatabaseFailure';
  readonly reason: 'unavailable' | 'time-out' | 'busy' | 'refused';
  /** PostgreSQL's SQLSTATE, if it answered. */
  readonly sqlState: string | null;
  readonly constraint: string | null;
}

/**
 * What an error of PostgreSQL is about, by its SQLSTATE.
 *   statement   our statement, its values or our stored function: repeating it changes nothing
 *   object      what the statement uses is missing, forbidden or damaged: others may succeed
 *   conflict    another transaction won: repeating it may succeed
 *   time-out    it took too long
 *   server      everything else: the connection, the log-in, the server, its disk
 */
export type SqlStateCause = 'statement' | 'object' | 'conflict' | 'time-out' | 'server';

/**
 * By exclusion: only what these rows name is a fault of ours. A code that no row names is the server's, so that a refusal
 * nobody thought of leaves known keys in use.
 *
 * Every statement of ours has run on the schema that this process found at its start. So in class 42 a missing table,
 * column, function, type or unique index, or a missing privilege, is what an operator or a restore has changed since, and
 * only syntax and types are ours. The same holds for 0A000 and 42P05, which prepared statements get after a column was
 * altered or behind a pooler.
 */
const CAUSES: readonly (readonly [RegExp, SqlStateCause])[] = [
  [/^(25P03|25P04|55P03|57014)$/, 'time-out'],
  [/^(25006|40003)$/, 'server'],
  [/^40002$/, 'statement'],
  [/^40/, 'conflict'],
  [/^(0A000|3F000|42501|42P01|42P05|42P10|42703|42704|42883|54000|55000|55006)$/, 'object'],
  [/^(XX|26|HV)/, 'object'],
  [/^(03|09|0B|0F|0L|0P|0Z|20|21|22|23|24|25|27|2B|2D|2F|34|38|39|3B|42|44|54|55P04|P0)/, 'statement'],
];

export function causeOfSqlState(sqlState: string): SqlStateCause {
  return CAUSES.find(([codes]) => codes.test(sqlState))?.[1] ?? 'server';
}

export function reasonOfSqlState(sqlState: string): DatabaseFailure['reason'] {
  const cause = causeOfSqlState(sqlState);
  if (cause === 'time-out') return 'time-out';
  return cause === 'statement' ? 'refused' : 'unavailable';
}

/** Whether the database could not run a statement now, which says nothing about the statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const { name, reason } = (error ?? {}) as Partial<DatabaseFailure>;
  return name === 'DatabaseFailure' && reason !== 'refused';
}

/**
 * Whether the server answered with something that may hold for this statement only, so that others are worth trying. In
 * an invalid state of the transaction (class 25) nothing else would succeed.
 */
export function isOfOneStatement(error: unknown): boolean {
  const { name, sqlState } = (error ?? {}) as Partial<DatabaseFailure>;
  if (name !== 'DatabaseFailure' || sqlState == null) return false;
  const cause = causeOfSqlState(sqlState);
  return cause === 'object' || (cause === 'statement' && !sqlState.startsWith('25'));
}
