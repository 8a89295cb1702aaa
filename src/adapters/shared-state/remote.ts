import type { Log } from '../../ports/log.ts';
import type { ChannelSession, OpenSession, RequestChannel } from '../../ports/request-channel.ts';
import type { SharedState, StateSubscription } from '../../ports/shared-state.ts';
import { sharedStateFailure } from './input-checks.ts';

/** The methods that another process calls; a subscription is one too, and ends with its session. */
type StateRequest =
  | { readonly call: 'reserve'; readonly given: Parameters<SharedState['reserve']> }
  | { readonly call: 'settle'; readonly given: Parameters<SharedState['settle']> }
  | { readonly call: 'get'; readonly given: Parameters<SharedState['get']> }
  | { readonly call: 'set'; readonly given: Parameters<SharedState['set']> }
  | { readonly call: 'setIfAbsent'; readonly given: Parameters<SharedState['setIfAbsent']> }
  | { readonly call: 'delete'; readonly given: Parameters<SharedState['delete']> }
  | { readonly call: 'publish'; readonly given: Parameters<SharedState['publish']> }
  | { readonly call: 'listeners'; readonly given: Parameters<SharedState['listeners']> }
  | { readonly call: 'check'; readonly given: [] }
  | { readonly call: 'subscribe'; readonly topic: string; readonly id: number }
  | { readonly call: 'unsubscribe'; readonly id: number };

interface PublishedEvent {
  readonly id: number;
  readonly message: string;
}

/** Serves the memory of this process to others. */
export function serveState(state: SharedState): OpenSession {
  return (notify): ChannelSession => {
    const subscriptions = new Map<number, StateSubscription>();
    let hasLeft = false;

    async function subscribe(topic: string, id: number): Promise<void> {
      const onMessage = (message: string) => notify({ id, message } satisfies PublishedEvent);
      const subscription = await state.subscribe(topic, onMessage, () => {});
      if (hasLeft) await subscription.close();
      else subscriptions.set(id, subscription);
    }

    function answer(request: StateRequest): Promise<unknown> {
      switch (request.call) {
        case 'reserve':
          return state.reserve(...request.given);
        case 'settle':
          return state.settle(...request.given);
        case 'get':
          return state.get(...request.given);
        case 'set':
          return state.set(...request.given);
        case 'setIfAbsent':
          return state.setIfAbsent(...request.given);
        case 'delete':
          return state.delete(...request.given);
        case 'publish':
          return state.publish(...request.given);
        case 'listeners':
          return state.listeners(...request.given);
        case 'check':
          return state.check();
        case 'subscribe':
          return subscribe(request.topic, request.id);
        case 'unsubscribe': {
          const subscription = subscriptions.get(request.id);
          subscriptions.delete(request.id);
          return subscription?.close() ?? Promise.resolve();
        }
      }
    }

    return {
      answer: (request) => answer(request as StateRequest),
      left() {
        hasLeft = true;
        for (const subscription of subscriptions.values()) void subscription.close();
        subscriptions.clear();
      },
    };
  };
}

/**
 * Shared state in the memory of another process. A lost connection is not renewed: the state was lost with that process.
 */
export async function openRemoteState({
  connect,
  log,
}: {
  readonly connect: (onEvent: (event: unknown) => void) => Promise<RequestChannel>;
  /** Hears of message handlers that throw. */
  readonly log: Log;
}): Promise<SharedState> {
  const handlers = new Map<number, (message: string) => void>();
  let lastId = 0;
  const channel = await connect((event) => {
    const { id, message } = event as PublishedEvent;
    try {
      handlers.get(id)?.(message);
    } catch (error) {
      log.error('a handler of shared-state messages failed', { error });
    }
  });

  async function ask<T>(request: StateRequest): Promise<T> {
    try {
      return (await channel.ask(request)) as T;
    } catch (error) {
      if ((error as Error).name !== 'ChannelFailure') throw error;
      throw sharedStateFailure('unavailable', (error as Error).message);
    }
  }

  return {
    reserve: (...given) => ask({ call: 'reserve', given }),
    settle: (...given) => ask({ call: 'settle', given }),
    get: (...given) => ask({ call: 'get', given }),
    set: (...given) => ask({ call: 'set', given }),
    setIfAbsent: (...given) => ask({ call: 'setIfAbsent', given }),
    delete: (...given) => ask({ call: 'delete', given }),
    publish: (...given) => ask({ call: 'publish', given }),
    listeners: (...given) => ask({ call: 'listeners', given }),
    async subscribe(topic, onMessage) {
      lastId += 1;
      const id = lastId;
      handlers.set(id, onMessage);
      await ask({ call: 'subscribe', topic, id });
      return {
        async close() {
          handlers.delete(id);
          if (channel.isOpen()) await ask({ call: 'unsubscribe', id });
        },
      };
    },
    check: () => ask({ call: 'check', given: [] }),
    close: async () => channel.close(),
  };
}
