import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';

/** Shared state whose subscriptions a test breaks: `gap` says that they were lost and made anew. */
export function createSteeredMessages(clock: Clock): SharedState & { gap(): void } {
  const state = createInProcessState({ clock });
  const listeners = new Set<() => void>();
  return {
    ...state,
    async subscribe(topic, onMessage, onGap) {
      const subscription = await state.subscribe(topic, onMessage, onGap);
      listeners.add(onGap);
      return {
        async close() {
          listeners.delete(onGap);
          await subscription.close();
        },
      };
    },
    gap() {
      for (const onGap of listeners) onGap();
    },
  };
}
