import type { Row } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { databaseFailure, reasonOfSqlState } from './failure.ts';
import type { FromThread, ToThread } from './pglite-messages.ts';

type Request = ToThread extends infer T ? (T extends ToThread ? Omit<T, 'id'> : never) : never;

/** The main thread's end of the wire to the thread that runs PGlite. */
export interface Thread {
  ask(request: Request): Promise<Row[]>;
  isAlive(): boolean;
  close(): Promise<void>;
}

interface ThreadOptions {
  readonly folder: string;
  readonly log: Log;
  readonly onNotified: (channel: string, payload: string) => void;
}

export async function startThread({ folder, log, onNotified }: ThreadOptions): Promise<Thread> {
  const worker = new Worker(new URL('./pglite-thread.ts', import.meta.url).href);
  const waiting = new Map<number, { resolve(rows: Row[]): void; reject(error: Error): void }>();
  let lastId = 0;
  let alive = true;

  worker.onmessage = (event: MessageEvent<FromThread>) => {
    const message = event.data;
    if (message.kind === 'notified') return onNotified(message.channel, message.payload);
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.kind === 'rows') return asked?.resolve(message.rows);
    const { sqlState, constraint } = message;
    const reason = sqlState === null ? 'unavailable' : reasonOfSqlState(sqlState);
    asked?.reject(databaseFailure(reason, message.message, { sqlState, constraint }));
  };
  const die = (why: string) => {
    if (!alive) return;
    alive = false;
    worker.terminate();
    if (waiting.size > 0) log.error('the embedded database stopped', { why });
    for (const asked of waiting.values()) {
      asked.reject(databaseFailure('unavailable', `the embedded database stopped: ${why}`));
    }
    waiting.clear();
  };
  worker.onerror = (event) => die(event.message);
  worker.addEventListener('close', () => die('its thread ended'));

  const thread: Thread = {
    ask(request) {
      if (!alive) {
        return Promise.reject(databaseFailure('unavailable', 'the embedded database has stopped'));
      }
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker.postMessage({ ...request, id } as ToThread);
      });
    },
    isAlive: () => alive,
    async close() {
      await thread.ask({ kind: 'close' }).catch(() => {});
      alive = false;
      worker.terminate();
    },
  };
  try {
    await thread.ask({ kind: 'open', folder });
  } catch (error) {
    die('it could not be opened');
    throw error;
  }
  return thread;
}
