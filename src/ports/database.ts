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

interface QueryOptions {
  /**
   * The statement has no data in common with deferred writes, so it does not wait for them. For frequent statements: each
   * one that waits makes the groups of deferred writes smaller.
   */
  readonly isIndependent?: boolean;
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
 * The fields of every Error of a database. `unavailable`, `time-out` and `busy` say nothing about the statement itself.
 * After `unavailable` or `time-out` it is unknown whether a statement took effect.
 */
export interface DatabaseFailure extends Error {
  readonly name: 'DatabaseFailure';
  readonly reason: 'unavailable' | 'time-out' | 'busy' | 'refused';
  /** PostgreSQL's SQLSTATE, if it answered. */
  readonly sqlState: string | null;
  readonly constraint: string | null;
}

/** Whether the database could not run a statement now, which says nothing about the statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const { name, reason } = (error ?? {}) as Partial<DatabaseFailure>;
  return name === 'DatabaseFailure' && reason !== 'refused';
}
