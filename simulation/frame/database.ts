import { databaseFailure } from '../../src/adapters/database/failure.ts';
import {
  type Database,
  reasonOfSqlState,
  type SqlValue,
  type Statements,
  type Transaction,
} from '../../src/ports/database.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import type { Requests } from './requests.ts';
import { NEVER, type Owner, type Scheduler } from './scheduler.ts';

/** What is wrong with the database at a moment. */
export type DatabaseTrouble =
  /** Refuses connections. */
  | { readonly kind: 'away' }
  /** Answers nothing; what was sent takes effect or not, and its sender finds out by its time-out. */
  | { readonly kind: 'silent' }
  /** Of statements so many in a hundred fail: with this SQLSTATE, or as a lost connection (null). */
  | { readonly kind: 'errors'; readonly percent: number; readonly sqlState: string | null };

export interface SimulatedDatabase {
  connect(owner: Owner): Database;
  /** Without faults, in no time: it only waits for its turn. For the payment provider, whose tables are here too. */
  connectSoundly(owner: Owner): Database;
  /** No transaction is open: one would keep `direct` waiting. */
  isFree(): boolean;
  /** Without faults and without turns: for checks and set-up. */
  readonly direct: Database;
  trouble: DatabaseTrouble | null;
  /** Of the calls of a statement, as JSON: whether one of them is refused for what it contains. */
  hasBadRow: (calls: string) => boolean;
  /** Its connections break off: the server rolls back what it had begun. */
  left(owner: Owner): void;
  /** Statements that may have changed something, counted. */
  changes(): number;
  snapshot(): Promise<Snapshot>;
  /** The same, once no transaction is open. */
  snapshotInTurn(owner: Owner): Promise<Snapshot>;
  /** The database is as it was then, but for the tables of the payment provider, which is another company's. */
  /** The same, between two transactions of others: an open transaction is lost. */
  stepBack(snapshot: Snapshot): Promise<void>;
  restore(snapshot: Snapshot, options?: { readonly withProvider: boolean }): Promise<void>;
}

/** Rows by table, as JSON that only the database reads. */
export type Snapshot = ReadonlyMap<string, string>;

interface DatabaseParts {
  readonly real: Database;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly requests: Requests;
}

const STATEMENT_TIMEOUT_MS = 5_000;
/** Not of the simulation: they never change in it. */
const UNTOUCHED = ['schema_migrations', 'stored_functions', 'log_entries'];
const isProviders = (table: string) => table.startsWith('payment_sandbox_');

/** One PostgreSQL for all processes of the simulated world. It has one connection: transactions take turns. */
export function createSimulatedDatabase({
  real,
  scheduler,
  random,
  requests,
}: DatabaseParts): SimulatedDatabase {
  const turns = createTurns();
  const tables = readTables(real);
  let changes = 0;

  const simulated: SimulatedDatabase = {
    direct: real,
    trouble: null,
    hasBadRow: () => false,
    changes: () => changes,
    isFree: turns.isFree,
    connect,
    connectSoundly: (owner) => {
      const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
        const leave = await turns.enter(owner);
        return await run(work, true).finally(leave);
      };
      return {
        ...connect(owner),
        query: <R>(text: string, values: readonly SqlValue[] = []) =>
          inTurn(() => real.query<R>(text, values)),
        script: (text) => inTurn(() => real.script(text)),
        transaction: (work) => inTurn(() => real.transaction(work)),
      };
    },
    left: turns.left,
    snapshot: () => readSnapshot(real, tables),
    async snapshotInTurn(owner) {
      const leave = await turns.enter(owner);
      return await run(() => simulated.snapshot(), false).finally(leave);
    },
    async stepBack(snapshot) {
      turns.breakOff();
      await simulated.restore(snapshot);
    },
    async restore(snapshot, { withProvider } = { withProvider: false }) {
      const now = await simulated.snapshot();
      const known = await tables;
      const meant = (name: string) => withProvider || !isProviders(name);
      await real.transaction(async (transaction) => {
        await transaction.script('set local session_replication_role = replica');
        for (const name of now.keys()) {
          if (meant(name) && now.get(name) !== snapshot.get(name))
            await transaction.query(`delete from ${name}`);
        }
        for (const [name, rows] of snapshot) {
          if (!meant(name) || now.get(name) === rows) continue;
          const columns = known.get(name);
          await transaction.query(
            `insert into ${name} (${columns}) overriding system value
             select ${columns} from json_populate_recordset(null::${name}, $1::text::json)`,
            [rows],
          );
        }
      });
      changes += 1;
    },
  };

  function faultOf() {
    const { trouble } = simulated;
    if (trouble === null) return null;
    const when = random.pick(['before', 'after'] as const);
    switch (trouble.kind) {
      case 'away':
        return {
          when: 'before' as const,
          error: databaseFailure('unavailable', 'connection refused'),
          afterMs: 1,
        };
      case 'silent': {
        const error = databaseFailure('time-out', 'no answer in time');
        return { when, error, afterMs: STATEMENT_TIMEOUT_MS };
      }
      case 'errors': {
        if (random.below(100) >= trouble.percent) return null;
        const { sqlState } = trouble;
        if (sqlState === null)
          return { when, error: databaseFailure('unavailable', 'connection lost'), afterMs: 1 };
        const error = databaseFailure(reasonOfSqlState(sqlState), `SQLSTATE ${sqlState}`, { sqlState });
        return { when: 'before' as const, error, afterMs: 1 };
      }
    }
  }

  function beginFault() {
    const fault = faultOf();
    return fault === null ? null : { ...fault, when: 'before' as const };
  }

  /** The runtime's own work: nothing else happens meanwhile. */
  async function run<T>(work: () => Promise<T>, isChange: boolean): Promise<T> {
    const release = scheduler.hold();
    try {
      return await work();
    } finally {
      if (isChange) changes += 1;
      release();
    }
  }

  function connect(owner: Owner): Database {
    const statements = (on: Statements, isOwnTurn: boolean): Statements => ({
      query: <R>(text: string, values: readonly SqlValue[] = []) =>
        requests.send(
          owner,
          `database ${named(text)}`,
          async () => {
            const leave = isOwnTurn ? await turns.enter(owner) : () => {};
            if (/charge_call/.test(text) && simulated.hasBadRow(String(values[0]))) {
              leave();
              throw databaseFailure('refused', 'a value is out of range', { sqlState: '22003' });
            }
            return await run(() => on.query<R>(text, values), isOwnTurn && isChange(text)).finally(leave);
          },
          () => faultOf(),
        ),
      script: (text) =>
        requests.send(
          owner,
          `database ${named(text)}`,
          async () => {
            const leave = isOwnTurn ? await turns.enter(owner) : () => {};
            return await run(() => on.script(text), isOwnTurn).finally(leave);
          },
          () => faultOf(),
        ),
    });
    return {
      engine: 'postgres',
      ...statements(real, true),
      transaction: (work) => transact(owner, work, (on) => statements(on, false)),
      async listen(_channel, _onMessage, onReconnect) {
        onReconnect();
        return { close: async () => {} };
      },
      pool: () => ({ size: 1, busy: 0, waiting: 0 }),
      close: async () => {},
    };
  }

  async function transact<T>(
    owner: Owner,
    work: (transaction: Transaction) => Promise<T>,
    statementsOn: (on: Statements) => Statements,
  ): Promise<T> {
    const begun = await requests.send(owner, 'database begin', () => begin(owner), beginFault);
    let failure: unknown = null;
    const failing = <R>(sent: Promise<R>): Promise<R> =>
      sent.catch((error: unknown) => {
        failure ??= error;
        throw error;
      });
    const sound = <R>(send: () => Promise<R>): Promise<R> => {
      if (failure === null) return failing(send());
      return Promise.reject(databaseFailure('refused', 'the transaction is aborted', { sqlState: '25P02' }));
    };
    const on = statementsOn(begun.statements);
    try {
      const result = await work({
        isTransaction: true,
        query: <R>(text: string, values?: readonly SqlValue[]) => sound(() => on.query<R>(text, values)),
        script: (text) => sound(() => on.script(text)),
      });
      if (failure !== null) throw failure;
      await requests.send(
        owner,
        'database commit',
        () => run(() => begun.end('commit'), true),
        () => faultOf(),
      );
      return result;
    } catch (error) {
      await run(() => begun.end('rollback'), false);
      if (!owner.isAlive) return await NEVER;
      throw error;
    }
  }

  /** Open until `end`, or until its process dies, which the server takes for a rollback. */
  async function begin(owner: Owner) {
    const leave = await turns.enter(owner);
    const decided = Promise.withResolvers<'commit' | 'rollback'>();
    const opened = Promise.withResolvers<Statements>();
    const release = scheduler.hold();
    const ended = real
      .transaction(async (transaction) => {
        opened.resolve(transaction);
        if ((await decided.promise) === 'rollback') throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      })
      .finally(leave);
    ended.catch(() => {});
    const statements = await opened.promise;
    release();
    const end = (how: 'commit' | 'rollback') => {
      decided.resolve(how);
      return ended;
    };
    turns.whenLeft(() => void run(() => end('rollback'), false));
    return { statements, end };
  }

  return simulated;
}

/** All rows of all tables, in one statement. */
export async function readSnapshot(real: Database, known = readTables(real)): Promise<Snapshot> {
  const rows = await real.query<{ name: string; rows: string | null }>(
    [...(await known).keys()]
      .map((name) => `select '${name}' as name, (select json_agg(t)::text from ${name} as t) as rows`)
      .join(' union all '),
  );
  return new Map(rows.flatMap(({ name, rows: json }) => (json === null ? [] : [[name, json] as const])));
}

class RolledBack extends Error {}

/** A first word is enough to see whether it can change anything; functions that are called by `select` are named. */
function isChange(text: string): boolean {
  return !/^\s*select/i.test(text) || /charge_call|for update/.test(text);
}

/** Of a statement what a reader of a trace needs. */
function named(text: string): string {
  const words = text.replaceAll(/\s+/g, ' ').trim();
  const called = /from (charge_call\w*)/.exec(words);
  return called?.[1] ?? words.slice(0, 48);
}

async function readTables(real: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await real.query<{ name: string; columns: string }>(
    `select c.table_name as name, string_agg(quote_ident(c.column_name), ', ' order by c.ordinal_position) as columns
     from information_schema.columns as c join pg_class on relname = c.table_name and relkind in ('r', 'p')
       and not relispartition and relnamespace = 'public'::regnamespace
     where c.table_schema = 'public' and c.is_generated = 'NEVER' group by c.table_name order by c.table_name`,
  );
  return new Map(
    rows.filter(({ name }) => !UNTOUCHED.includes(name)).map(({ name, columns }) => [name, columns]),
  );
}

/** Who has the one connection; the others wait in the order in which they came. */
function createTurns() {
  interface Waiting {
    readonly owner: Owner;
    readonly resolve: (leave: () => void) => void;
  }
  interface Holder {
    readonly owner: Owner;
    whenLeft: (() => void) | null;
  }
  const waiting: Waiting[] = [];
  let holder: Holder | null = null;

  function next(): void {
    let first = waiting.shift();
    while (first !== undefined && !first.owner.isAlive) first = waiting.shift();
    if (first !== undefined) take(first);
  }
  function take({ owner, resolve }: Waiting): void {
    const taken: Holder = { owner, whenLeft: null };
    holder = taken;
    resolve(() => {
      if (holder !== taken) return;
      holder = null;
      next();
    });
  }
  return {
    enter(owner: Owner): Promise<() => void> {
      if (!owner.isAlive) return NEVER;
      return new Promise((resolve) => {
        if (holder === null) return take({ owner, resolve });
        waiting.push({ owner, resolve });
      });
    },
    /** For the transaction that has just been begun. */
    whenLeft(work: () => void): void {
      if (holder !== null) holder.whenLeft = work;
    },
    isFree: () => holder === null,
    breakOff(): void {
      holder?.whenLeft?.();
    },
    left(owner: Owner): void {
      if (holder?.owner === owner) holder.whenLeft?.();
    },
  };
}
