import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Database,
  type Row,
  reasonOfSqlState,
  type SqlValue,
  type Statements,
  type Transaction,
} from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { RequestChannel } from '../../../ports/request-channel.ts';
import { databaseFailure } from '../failure.ts';
import { createWaitQueue } from '../wait-queue.ts';
import { createDeferredWrites, type OwnDeferredWrites } from './deferred-writes.ts';
import { type DatabaseRequest, type NotifiedEvent, sqlFields } from './serve.ts';
import type { DeferredWritten, FromThread, ToThread } from './thread.ts';

interface Bounds {
  readonly log: Log;
  readonly maxWaiting: number;
  readonly statementTimeoutMs: number;
}

interface PgliteOptions extends Bounds {
  /** The folder of the database. The caller ensures that no other process has it open. */
  readonly folder: string;
  /** Another process connects through the socket at `path`; `thread` is the file of the thread that serves it. */
  readonly shared?: { readonly path: string; readonly thread: URL };
}

const UNFINISHED = '.unfinished-';
/** The engine's lock file. It is empty if a process was killed while writing it, and then prevents every later start. */
const ENGINE_LOCK = 'postmaster.pid';
const OWN_THREAD = new URL('./own-thread.ts', import.meta.url);

/** PostgreSQL embedded in this process, on its own thread. */
export async function openPglite(options: PgliteOptions): Promise<Database> {
  const { folder, log, shared } = options;
  await initialise(folder);
  await rm(join(folder, ENGINE_LOCK), { force: true });
  const start: StartThread = (onNotified, deferred) =>
    startThread({ folder, log, onNotified, shared, deferred });
  return await openDatabase(options, start, true);
}

interface SharedPgliteOptions extends Bounds {
  connect(onEvent: (event: unknown) => void): Promise<RequestChannel>;
}

/** The embedded database of another process. */
export async function openSharedPglite({ connect, ...bounds }: SharedPgliteOptions): Promise<Database> {
  const start: StartThread = async (onNotified) => {
    const channel = await connect((event) => {
      const { channel: name, payload } = event as NotifiedEvent;
      onNotified(name, payload);
    }).catch((error: Error) => {
      throw databaseFailure('unavailable', `the embedded database cannot be reached: ${error.message}`);
    });
    return {
      ask: (request) => channel.ask(request).catch(asFailure) as Promise<Row[]>,
      isAlive: channel.isOpen,
      close: async () => channel.close(),
    };
  };
  return await openDatabase(bounds, start, false);
}

type StartThread = (
  onNotified: (channel: string, payload: string) => void,
  deferred: OwnDeferredWrites,
) => Promise<Thread>;

function asFailure(error: Error): never {
  if (error.name === 'ChannelFailure') throw databaseFailure('unavailable', error.message);
  throw failureOf(sqlFields(error));
}

function failureOf({ message, sqlState, constraint }: ReturnType<typeof sqlFields>) {
  const reason = sqlState === null ? 'unavailable' : reasonOfSqlState(sqlState);
  return databaseFailure(reason, message, { sqlState, constraint });
}

/**
 * There is one connection: statements and transactions take turns. A statement cannot be cancelled: after its time-out the
 * caller gets a failure, but the statement continues and the others wait.
 */
async function openDatabase(options: Bounds, start: StartThread, defersWrites: boolean): Promise<Database> {
  const { statementTimeoutMs } = options;
  const line = createWaitQueue(1, options.maxWaiting);
  const listeners = new Map<string, Set<(payload: string) => void>>();
  const onNotified = (channel: string, payload: string) => {
    for (const onMessage of listeners.get(channel) ?? []) onMessage(payload);
  };
  const deferred = createDeferredWrites({ query: queryBy(runNow), script: scriptBy(runNow) });
  const open = () => start(onNotified, deferred);
  let thread: Thread = await open();
  let closed = false;

  /** A thread that died (out of memory, a bug in the engine) is restarted, and PostgreSQL recovers from its log. */
  async function alive(): Promise<Thread> {
    if (thread.isAlive() || closed) return thread;
    thread = await open();
    for (const channel of listeners.keys()) await thread.ask({ kind: 'listen', channel });
    return thread;
  }

  async function runNow<T>(timeoutMs: number, work: (thread: Thread) => Promise<T>): Promise<T> {
    const leave = await line.enter(statementTimeoutMs);
    let running: Promise<T>;
    try {
      running = work(await alive());
    } catch (error) {
      leave();
      throw error;
    }
    // The place is released when the engine is done, not when the caller has timed out.
    running.finally(leave).catch(() => {});
    return await withTimeout(running, timeoutMs);
  }

  const run: Run = (timeoutMs, work) =>
    deferred.isEmpty() ? runNow(timeoutMs, work) : deferred.flush().then(() => runNow(timeoutMs, work));

  function queryBy(running: Run): Statements['query'] {
    return <R>(text: string, values: readonly SqlValue[] = [], { isIndependent = false } = {}) =>
      (isIndependent ? runNow : running)(
        statementTimeoutMs,
        (used) => used.ask({ kind: 'query', text, values, isIndependent }) as Promise<R[]>,
      );
  }
  function scriptBy(running: Run): Statements['script'] {
    return (text) => running(statementTimeoutMs, (used) => used.ask({ kind: 'script', text }));
  }

  return {
    engine: 'pglite',
    query: queryBy(run),
    script: scriptBy(run),
    ...(defersWrites ? { deferred } : {}),
    transaction: (work, { timeoutMs = statementTimeoutMs } = {}) =>
      run(timeoutMs + 1_000, (used) => transactionOn(used, timeoutMs, work)),
    async listen(channel, onMessage, onReconnect) {
      const others = listeners.get(channel) ?? new Set();
      listeners.set(channel, others.add(onMessage));
      await run(statementTimeoutMs, (used) => used.ask({ kind: 'listen', channel }));
      onReconnect();
      return {
        async close() {
          others.delete(onMessage);
          if (others.size > 0 || closed) return;
          listeners.delete(channel);
          await run(statementTimeoutMs, (used) => used.ask({ kind: 'unlisten', channel }));
        },
      };
    },
    pool: () => ({ size: 1, busy: line.busy(), waiting: line.waiting() }),
    async close() {
      if (closed) return;
      const leave = await line.enter(statementTimeoutMs).catch(() => () => {});
      closed = true;
      line.close();
      await thread.close();
      leave();
    },
  };
}

type Run = <T>(timeoutMs: number, work: (thread: Thread) => Promise<T>) => Promise<T>;

/**
 * Creates the cluster in a temporary folder and moves it when it is complete, so that a killed process leaves nothing that
 * looks like a database. Each builder uses its own folder, because it may outlive its killed parent for a while.
 */
async function initialise(folder: string): Promise<void> {
  await removeUnfinished(folder);
  if (existsSync(folder)) return await refuseIncomplete(folder);
  const unfinished = `${folder}${UNFINISHED}${process.pid}`;
  const program = fileURLToPath(new URL('./initialise.ts', import.meta.url));
  const child = Bun.spawn([process.execPath, program, unfinished], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const [exitCode, complaint] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  if (exitCode === 0) return await rename(unfinished, folder);
  await removeUnfinished(folder);
  const last = complaint.trim().split('\n').at(-1) ?? '';
  throw databaseFailure('unavailable', `the embedded database could not be made in ${folder}: ${last}`);
}

/** The engine would begin an empty database among the files of a damaged one. In an empty folder of a volume it may. */
async function refuseIncomplete(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== 'lost+found');
  if (names.length > 0 && !names.includes('PG_VERSION'))
    throw cannotBeOpened(folder, 'its PG_VERSION is missing');
}

async function removeUnfinished(folder: string): Promise<void> {
  const parent = dirname(folder);
  const names = existsSync(parent) ? await readdir(parent) : [];
  const leftOver = names.filter((name) => name.startsWith(`${basename(folder)}${UNFINISHED}`));
  // A builder that is still writing may refill the folder while it is removed; the next start removes it then.
  await Promise.all(leftOver.map((name) => rm(join(parent, name), { recursive: true }).catch(() => {})));
}

async function transactionOn<T>(
  thread: Thread,
  timeoutMs: number,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  let state: 'open' | 'failed' | 'ended' = 'open';
  async function ask(request: DatabaseRequest): Promise<Row[]> {
    if (state === 'ended') {
      throw databaseFailure('refused', 'the transaction has ended', { sqlState: '25P01' });
    }
    return await thread.ask(request).catch((error) => {
      state = 'failed';
      throw error;
    });
  }
  await thread.ask({ kind: 'begin' });
  try {
    const transaction: Transaction = {
      isTransaction: true,
      query: <R>(text: string, values: readonly SqlValue[] = []) =>
        ask({ kind: 'query', text, values, isIndependent: false }) as Promise<R[]>,
      script: (text) => ask({ kind: 'script', text }),
    };
    const result = await withTimeout(work(transaction), timeoutMs);
    // PostgreSQL would silently turn this COMMIT into a ROLLBACK.
    if (hasFailed()) {
      throw databaseFailure('refused', 'a statement of the transaction failed', { sqlState: '25P02' });
    }
    state = 'ended';
    await thread.ask({ kind: 'commit' });
    return result;
  } catch (error) {
    state = 'ended';
    await thread.ask({ kind: 'rollback' }).catch(() => {});
    throw error;
  }
  function hasFailed(): boolean {
    return state === 'failed';
  }
}

function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const message = `the embedded database took longer than ${timeoutMs} ms`;
    const timer = setTimeout(() => reject(databaseFailure('time-out', message)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The main thread's connection to the thread that runs PGlite. */
interface Thread {
  ask(request: DatabaseRequest): Promise<Row[]>;
  isAlive(): boolean;
  close(): Promise<void>;
}

interface ThreadOptions {
  readonly folder: string;
  readonly log: Log;
  readonly onNotified: (channel: string, payload: string) => void;
  readonly shared: PgliteOptions['shared'];
  readonly deferred: OwnDeferredWrites;
}

async function startThread({ folder, log, onNotified, shared, deferred }: ThreadOptions): Promise<Thread> {
  const worker = new Worker((shared?.thread ?? OWN_THREAD).href);
  const waiting = new Map<number, { resolve(rows: Row[]): void; reject(error: Error): void }>();
  let lastId = 0;
  let alive = true;

  worker.onmessage = (event: MessageEvent<FromThread>) => {
    const message = event.data;
    if (message.kind === 'notified') return onNotified(message.channel, message.payload);
    if (message.kind === 'write-deferred') return void writeDeferred();
    const pending = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.kind === 'rows') return pending?.resolve(message.rows);
    pending?.reject(failureOf(message));
  };
  /** Another process waits for the deferred writes. */
  async function writeDeferred(): Promise<void> {
    await deferred.flush();
    worker.postMessage({ kind: 'deferred-written' } satisfies DeferredWritten);
  }
  const die = (why: string) => {
    if (!alive) return;
    alive = false;
    worker.terminate();
    if (waiting.size > 0) log.error('the embedded database stopped', { why });
    for (const pending of waiting.values()) {
      pending.reject(databaseFailure('unavailable', `the embedded database stopped: ${why}`));
    }
    waiting.clear();
  };
  worker.onerror = (event) => die(event.message);
  worker.addEventListener('close', () => die('its thread ended'));

  type Request = ToThread extends infer T ? (T extends ToThread ? Omit<T, 'id'> : never) : never;
  function ask(request: Request): Promise<Row[]> {
    if (!alive) {
      return Promise.reject(databaseFailure('unavailable', 'the embedded database has stopped'));
    }
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ ...request, id } as ToThread);
    });
  }
  try {
    await ask({ kind: 'open', folder, sharedAt: shared?.path ?? null, deferred: deferred.counts });
  } catch (error) {
    die('it could not be opened');
    throw cannotBeOpened(folder, (error as Error).message);
  }
  return {
    ask,
    isAlive: () => alive,
    async close() {
      await ask({ kind: 'close' }).catch(() => {});
      alive = false;
      worker.terminate();
    },
  };
}

function cannotBeOpened(folder: string, reason: string) {
  return databaseFailure(
    'unavailable',
    `the embedded database in ${folder} cannot be opened (${reason}): restore a backup of DATA_DIR, or start with an empty one`,
  );
}
