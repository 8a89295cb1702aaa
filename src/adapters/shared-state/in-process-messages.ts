import type { Log } from '../../ports/log.ts';
import type { StateSubscription } from '../../ports/shared-state.ts';

type Listener = (message: string) => void;

export interface InProcessMessages {
  publish(topic: string, message: string): void;
  subscribe(topic: string, onMessage: Listener): StateSubscription;
  close(): void;
}

export function createInProcessMessages({ log }: { log: Log | undefined }): InProcessMessages {
  const topics = new Map<string, Set<Listener>>();

  function deliver(topic: string, listener: Listener, message: string): void {
    // It may have left since the message was published.
    if (!topics.get(topic)?.has(listener)) return;
    try {
      listener(message);
    } catch (error) {
      log?.error('a handler of shared-state messages failed', { topic, error });
    }
  }

  return {
    publish(topic, message) {
      // Outside the publisher's stack, so that no handler runs in the middle of its work.
      for (const listener of topics.get(topic) ?? []) {
        queueMicrotask(() => deliver(topic, listener, message));
      }
    },

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
