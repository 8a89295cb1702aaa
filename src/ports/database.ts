/**
 * PostgreSQL, in one of two places: a server, or embedded in this process. The same SQL runs on both, so it
 * keeps to PostgreSQL 15.
 *
 * What comes back, on both: bigint as BigInt (count(*) too), integer and float8 as number, numeric as string,
 * timestamptz as Date, json and jsonb parsed, bytea as Uint8Array, uuid and text as string, arrays as arrays.
 * What goes in: the same. A JSON column takes an object or an array, never a string that holds JSON: the two
 * engines read such a string differently.
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
  /** One statement; values stand as $1, $2 … */
  query<R = Row>(text: string, values?: readonly SqlValue[], options?: QueryOptions): Promise<R[]>;
  /** Several statements without values, in one round trip; the rows of all of them, one after the other. */
  script(text: string): Promise<Row[]>;
}

export interface QueryOptions {
  /**
   * It neither reads nor changes what a deferred write reads or changes, so it need not wait for one. For what is asked again and
   * again: each statement that waits makes the groups of deferred writes smaller.
   */
  readonly isIndependent?: boolean;
}

/** Fails when used after its `work` has ended. */
export interface Transaction extends Statements {
  readonly isTransaction: true;
}

export interface Database extends Statements {
  readonly engine: 'postgres' | 'pglite';
  /**
   * Commits when `work` resolves, rolls back when it rejects. One that takes longer than the configured time
   * is rolled back: it holds locks that others wait for (on the embedded engine, all others).
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    options?: { readonly timeoutMs?: number },
  ): Promise<T>;
  /** `onReconnect` runs after every subscription, the first one too: what was sent before it may be lost. */
  listen(channel: string, onMessage: (payload: string) => void, onReconnect: () => void): Promise<Listener>;
  pool(): PoolStatus;
  /** Only of an engine that this process runs itself. */
  readonly deferred?: DeferredWrites;
  /** Waits for running statements up to a few seconds, then closes. */
  close(): Promise<void>;
}

/**
 * Writes that wait so that many go together, without anyone seeing the database without them: they run before the next
 * statement or transaction of anyone else, in this process or another, but for those that are independent. What waits must be durable elsewhere.
 */
export interface DeferredWrites {
  /** How they are written. One at a time, with statements that wait for nothing deferred; it must not reject. */
  writeBy(write: (statements: Statements) => Promise<void>): void;
  /** Something waits from now on. */
  add(): void;
  isEmpty(): boolean;
  /** Resolves when all that waits by now is written. */
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
 * Every failure of a database, as an Error with these fields. `unavailable`, `time-out` and `busy` say nothing
 * about the statement: of a statement that was sent and got `unavailable` or `time-out`, it is unknown whether
 * it took effect.
 */
export interface DatabaseFailure extends Error {
  readonly name: 'DatabaseFailure';
  readonly reason: 'unavailable' | 'time-out' | 'busy' | 'refused';
  /** The five characters of PostgreSQL, where it answered. */
  readonly sqlState: string | null;
  readonly constraint: string | null;
}
