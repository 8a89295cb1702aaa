import type { DatabaseFailure } from '../../ports/database.ts';
import { databaseFailure } from './failure.ts';

/**
 * A semaphore with a limited queue. If the queue is full, requests fail at once: a slow database must not fill the memory
 * with waiting statements.
 */
interface WaitQueue {
  /** Resolves with the function that releases the place. It may be called more than once. */
  enter(timeoutMs: number): Promise<() => void>;
  busy(): number;
  waiting(): number;
  /** Rejects waiting requests, which were not sent. */
  refuseWaiting(failure: DatabaseFailure): void;
  /** Rejects waiting and later requests. */
  close(): void;
}

interface Waiter {
  admit(): void;
  refuse(failure: DatabaseFailure): void;
}

export function createWaitQueue(places: number, maxWaiting: number): WaitQueue {
  const line = new Set<Waiter>();
  let busy = 0;
  let closed = false;

  function leaver(): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      busy -= 1;
      const next = line.values().next().value;
      if (next === undefined) return;
      line.delete(next);
      next.admit();
    };
  }

  function wait(timeoutMs: number): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.delete(waiter);
        reject(databaseFailure('busy', `no database connection was free within ${timeoutMs} ms`));
      }, timeoutMs);
      const waiter: Waiter = {
        admit() {
          clearTimeout(timer);
          busy += 1;
          resolve(leaver());
        },
        refuse(failure) {
          clearTimeout(timer);
          reject(failure);
        },
      };
      line.add(waiter);
    });
  }

  function refuseWaiting(failure: DatabaseFailure): void {
    for (const waiter of line) waiter.refuse(failure);
    line.clear();
  }

  return {
    refuseWaiting,
    enter(timeoutMs) {
      if (closed) return Promise.reject(closedFailure());
      if (busy < places && line.size === 0) {
        busy += 1;
        return Promise.resolve(leaver());
      }
      if (line.size >= maxWaiting) {
        const message = `${maxWaiting} statements already wait for a database connection`;
        return Promise.reject(databaseFailure('busy', message));
      }
      return wait(timeoutMs);
    },
    busy: () => busy,
    waiting: () => line.size,
    close() {
      closed = true;
      refuseWaiting(closedFailure());
    },
  };
}

function closedFailure(): DatabaseFailure {
  return databaseFailure('unavailable', 'the database is closed');
}
