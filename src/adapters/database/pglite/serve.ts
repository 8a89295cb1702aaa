/**
 * Serves the embedded database to its own process, by messages to its thread, and to other processes, through a request
 * channel. There is one connection. A session uses it for one statement, or from `begin` to `commit` or `rollback`. The
 * others take turns, so each waits for at most one turn of every other session.
 */
import { PGlite, types } from '@electric-sql/pglite';
import type { Row, SqlValue } from '../../../ports/database.ts';
import type { ChannelServer, ChannelSession, OpenSession } from '../../../ports/request-channel.ts';

/** A request of a session. */
export type DatabaseRequest =
  | {
      readonly kind: 'query';
      readonly text: string;
      readonly values: readonly SqlValue[];
      readonly isIndependent: boolean;
    }
  | { readonly kind: 'script'; readonly text: string }
  | { readonly kind: 'begin' | 'commit' | 'rollback' }
  | { readonly kind: 'listen' | 'unlisten'; readonly channel: string };

export interface NotifiedEvent {
  readonly kind: 'notified';
  readonly channel: string;
  readonly payload: string;
}

/** Listens for other processes at the path. */
export type Share = (path: string, openSession: OpenSession) => ChannelServer;

export interface ServedDatabase {
  /** `before` is awaited before each transaction and before each other statement that is not independent. */
  openSession(notify: (event: unknown) => void, before?: () => Promise<void>): ChannelSession;
  close(): Promise<void>;
}

/**
 * A session of another process that is idle in a transaction for this long loses it if another session waits, like
 * PostgreSQL's idle_in_transaction_session_timeout.
 */
const IDLE_IN_TRANSACTION_MS = 2_000;

/**
 * The engine keeps files open that it may read again, by default a thousand: with the tables of a few months, as many as
 * hosts with a limit of 1,024 descriptors allow the whole process, which then could not accept a connection.
 */
const MOST_OPEN_FILES = 256;

/** Of PostgreSQL's text format of bytes. */
const HEX_PREFIX = '\\x';

export async function serveDatabase(folder: string): Promise<ServedDatabase> {
  const pglite = await PGlite.create({
    dataDir: folder,
    startParams: [...PGlite.defaultStartParams, '-c', `max_files_per_process=${MOST_OPEN_FILES}`],
    // PGlite's own functions for bytes build a string per byte: a file of 9 MB took the engine a second of processor
    // time to write and another to read, in which no other statement runs; with these it is 0.3 s and 0.1 s.
    parsers: {
      [types.INT8]: (text: string) => BigInt(text),
      [types.BYTEA]: (text: string) => Uint8Array.fromHex(text.slice(HEX_PREFIX.length)),
    },
    serializers: { [types.BYTEA]: (bytes: Uint8Array) => `${HEX_PREFIX}${bytes.toHex()}` },
  });
  const turns = createTurns();
  const listeners = new Map<string, Set<(event: NotifiedEvent) => void>>();
  const endListening = new Map<string, () => Promise<void>>();

  async function listen(channel: string, notify: (event: NotifiedEvent) => void): Promise<void> {
    const others = listeners.get(channel) ?? new Set();
    listeners.set(channel, others.add(notify));
    if (endListening.has(channel)) return;
    const end = await pglite.listen(channel, (payload) => {
      for (const one of listeners.get(channel) ?? []) one({ kind: 'notified', channel, payload });
    });
    endListening.set(channel, end);
  }

  async function unlisten(channel: string, notify: (event: NotifiedEvent) => void): Promise<void> {
    const others = listeners.get(channel);
    if (others?.delete(notify) !== true || others.size > 0) return;
    listeners.delete(channel);
    await endListening.get(channel)?.();
    endListening.delete(channel);
  }

  /** A failed script may leave its transaction open, and there is no other connection. */
  async function runScript(text: string, isInTransaction: boolean): Promise<Row[]> {
    try {
      return (await pglite.exec(text)).flatMap((result) => result.rows as Row[]);
    } catch (error) {
      if (!isInTransaction) await pglite.exec('rollback').catch(() => {});
      throw error;
    }
  }

  const openSession: ServedDatabase['openSession'] = (notifyAny, before) => {
    const notify = (event: NotifiedEvent) => notifyAny(event);
    /** Ends the turn of an open transaction; null outside of one. */
    let endTurn: (() => void) | null = null;
    /** The client does not know yet that its transaction has ended: its statements must not run outside of it. */
    let isLost = false;
    let running = Promise.resolve();

    async function run(request: DatabaseRequest): Promise<Row[]> {
      switch (request.kind) {
        case 'query':
          return (await pglite.query<Row>(request.text, [...request.values])).rows;
        case 'script':
          return await runScript(request.text, endTurn !== null);
        case 'listen':
          await listen(request.channel, notify);
          return [];
        case 'unlisten':
          await unlisten(request.channel, notify);
          return [];
        default:
          await pglite.exec(request.kind);
          return [];
      }
    }

    function endTransaction(): void {
      endTurn?.();
      endTurn = null;
    }

    async function rollBack(): Promise<void> {
      if (endTurn === null) return;
      await pglite.exec('rollback').catch(() => {});
      endTransaction();
    }

    function loseWhenIdle(): void {
      running = running.then(async () => {
        if (endTurn === null || !turns.isIdleForLong()) return;
        isLost = true;
        await rollBack();
      });
    }

    async function inTurn(request: DatabaseRequest): Promise<Row[]> {
      if (endTurn !== null) {
        turns.isBusy();
        try {
          return await run(request);
        } finally {
          if (request.kind === 'commit' || request.kind === 'rollback') endTransaction();
          else turns.isIdle();
        }
      }
      if (isLost) {
        isLost = request.kind !== 'commit' && request.kind !== 'rollback';
        throw sqlError('25P03', 'the transaction was idle while others waited, and was rolled back');
      }
      if (request.kind !== 'query' || !request.isIndependent) await before?.();
      const end = await turns.take(loseWhenIdle);
      try {
        const rows = await run(request);
        if (request.kind === 'begin') {
          endTurn = end;
          turns.isIdle();
        }
        return rows;
      } finally {
        if (endTurn === null) end();
      }
    }

    return {
      answer(request) {
        // One after the other, even if a client does not wait.
        const answering = running.then(() => inTurn(request as DatabaseRequest).catch(rethrowPlain));
        running = answering.then(
          () => {},
          () => {},
        );
        return answering;
      },
      left() {
        running = running.then(async () => {
          await rollBack();
          for (const channel of [...listeners.keys()]) await unlisten(channel, notify);
        });
      },
    };
  };

  return { openSession, close: () => pglite.close() };
}

interface Turns {
  /** Resolves with the function that ends the turn. `lose` is called if the holder is idle while others wait. */
  take(lose: () => void): Promise<() => void>;
  isBusy(): void;
  isIdle(): void;
  isIdleForLong(): boolean;
}

function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  let lose: (() => void) | null = null;
  let idleSince: number | null = null;
  let isWatching = false;

  const isIdleForLong = () => idleSince !== null && performance.now() - idleSince >= IDLE_IN_TRANSACTION_MS;

  function watch(): void {
    if (isWatching) return;
    isWatching = true;
    setTimeout(() => {
      isWatching = false;
      if (waiting.length === 0) return;
      if (isIdleForLong()) lose?.();
      watch();
    }, IDLE_IN_TRANSACTION_MS / 4);
  }

  return {
    async take(whenIdle) {
      if (isTaken) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        watch();
        await promise;
      }
      isTaken = true;
      lose = whenIdle;
      idleSince = null;
      return () => {
        lose = null;
        idleSince = null;
        const next = waiting.shift();
        // The turn passes directly to the next waiter, so a new request queues behind the existing ones.
        if (next === undefined) isTaken = false;
        else next();
      };
    },
    isBusy() {
      idleSince = null;
    },
    isIdle() {
      idleSince = performance.now();
    },
    isIdleForLong,
  };
}

/** The engine's errors contain the statement and its parameters, which must not leave this process. */
function rethrowPlain(error: unknown): never {
  const { message, code, constraint } = error as { message: string; code?: string; constraint?: string };
  throw Object.assign(new Error(message), { code, constraint });
}

function sqlError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The fields from which a client builds the failure. */
export function sqlFields(error: unknown): {
  message: string;
  sqlState: string | null;
  constraint: string | null;
} {
  const { message, code, constraint } = error as { message: string; code?: string; constraint?: string };
  return { message, sqlState: code ?? null, constraint: constraint ?? null };
}
