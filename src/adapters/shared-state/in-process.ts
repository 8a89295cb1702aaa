import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState, StateSubscription } from '../../ports/shared-state.ts';
import { createInProcessClaims } from './in-process/claims.ts';
import { createInProcessValues } from './in-process/expiring-maps.ts';
import {
  checkClaims,
  checkKey,
  checkMessage,
  checkSettlements,
  checkTopic,
  checkValue,
  sharedStateClosed,
} from './input-checks.ts';

interface InProcessStateOptions {
  clock: Pick<Clock, 'uptimeMs'>;
  /** Hears of message handlers that throw. */
  log?: Log;
}

/**
 * Shared state in the memory of a single process. Expired entries are removed while it is used: see
 * in-process/expiring-maps.ts. `advance` moves its time forward, for tests.
 */
export function createInProcessState(
  options: InProcessStateOptions,
): SharedState & { advance(ms: number): void } {
  let offsetMs = 0;
  let closed = false;
  /** One time for a whole step, like a script on a server, so that a window's end and its remaining time agree. */
  let stepAt: number | null = null;
  // Uptime: a system clock that is set back must not lengthen windows, holds or locks.
  const now = (): number => stepAt ?? Math.floor(options.clock.uptimeMs()) + offsetMs;
  const values = createInProcessValues({ now });
  const claims = createInProcessClaims({ now, readValue: values.get });
  const messages = createInProcessMessages({ log: options.log });

  function checkOpen(): void {
    if (closed) throw sharedStateClosed();
  }

  // All methods are async, so that invalid input rejects, as it does over a network, and never throws.
  return {
    async reserve(tag, requested) {
      checkOpen();
      checkClaims(tag, requested);
      stepAt = now();
      try {
        return claims.reserve(tag, requested);
      } finally {
        stepAt = null;
      }
    },
    async settle(tag, settlements) {
      checkOpen();
      checkSettlements(tag, settlements);
      stepAt = now();
      try {
        claims.settle(tag, settlements);
      } finally {
        stepAt = null;
      }
    },
    async get(key) {
      checkOpen();
      checkKey(key);
      return values.get(key);
    },
    async set(key, value, ttlMs) {
      checkOpen();
      checkValue(key, value, ttlMs);
      values.set(key, value, ttlMs);
    },
    async setIfAbsent(key, value, ttlMs) {
      checkOpen();
      checkValue(key, value, ttlMs);
      return values.setIfAbsent(key, value, ttlMs);
    },
    async delete(key) {
      checkOpen();
      checkKey(key);
      values.delete(key);
    },
    async publish(topic, message) {
      checkOpen();
      checkMessage(topic, message);
      messages.publish(topic, message);
    },
    async listeners(topic) {
      checkOpen();
      checkTopic(topic);
      return messages.listeners(topic);
    },
    async subscribe(topic, onMessage) {
      checkOpen();
      checkTopic(topic);
      return messages.subscribe(topic, onMessage);
    },
    async check() {
      checkOpen();
    },
    async close() {
      closed = true;
      messages.close();
    },
    advance(ms) {
      offsetMs += ms;
    },
  };
}

type Listener = (message: string) => void;

interface InProcessMessages {
  publish(topic: string, message: string): void;
  listeners(topic: string): number;
  subscribe(topic: string, onMessage: Listener): StateSubscription;
  close(): void;
}

function createInProcessMessages({ log }: { log: Log | undefined }): InProcessMessages {
  const topics = new Map<string, Set<Listener>>();

  function deliver(topic: string, listener: Listener, message: string): void {
    // The listener may have unsubscribed since the message was published.
    if (!topics.get(topic)?.has(listener)) return;
    try {
      listener(message);
    } catch (error) {
      log?.error('a handler of shared-state messages failed', { topic, error });
    }
  }

  return {
    publish(topic, message) {
      // Not in the publisher's stack, so that no handler interrupts its work.
      for (const listener of topics.get(topic) ?? []) {
        queueMicrotask(() => deliver(topic, listener, message));
      }
    },

    listeners: (topic) => topics.get(topic)?.size ?? 0,

    subscribe(topic, onMessage) {
      const listeners = topics.get(topic) ?? new Set();
      topics.set(topic, listeners);
      // A function of its own: one handler may be subscribed twice.
      const listener: Listener = (message) => onMessage(message);
      listeners.add(listener);
      return {
        async close() {
          listeners.delete(listener);
          if (listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic);
        },
      };
    },

    close() {
      topics.clear();
    },
  };
}
