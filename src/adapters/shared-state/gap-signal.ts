import type { SharedState } from '../../ports/shared-state.ts';

/**
 * Shared state that can make its subscribers clear their caches, as after a lost connection. Used when the database has
 * lost commits.
 */
export function withGapSignal(state: SharedState): SharedState & { signalGap(): void } {
  const listeners = new Set<() => void>();
  return {
    ...state,
    async subscribe(topic, onMessage, onGap) {
      const subscription = await state.subscribe(topic, onMessage, onGap);
      // A function of its own: one handler may be subscribed twice.
      const listener = () => onGap();
      listeners.add(listener);
      return {
        async close() {
          listeners.delete(listener);
          await subscription.close();
        },
      };
    },
    signalGap() {
      for (const listener of listeners) listener();
    },
  };
}
