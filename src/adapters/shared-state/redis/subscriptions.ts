import type { RedisClient } from 'bun';
import type { Log } from '../../../ports/log.ts';
import type { StateSubscription } from '../../../ports/shared-state.ts';
import { sharedStateClosed } from '../input-checks.ts';
import type { ConnectionNeeds, RedisConnection } from './connection.ts';

/**
 * All topics on one dedicated connection, opened with the first subscription. After a reconnection all topics are
 * subscribed again before the connection counts as up, and then `onGap` of every listener runs.
 */

interface Listener {
  onMessage(message: string): void;
  onGap(): void;
}

interface RedisSubscriptions {
  subscribe(topic: string, listener: Listener): Promise<StateSubscription>;
  /** Runs `onGap` of every listener: messages or state may be lost. */
  notifyGap(): void;
  close(): Promise<void>;
}

interface SubscriptionNeeds {
  connect(own: Pick<ConnectionNeeds, 'prepare' | 'onRestored'>): Promise<RedisConnection>;
  readonly channelPrefix: string;
  readonly log: Log;
}

export function createRedisSubscriptions({
  connect,
  channelPrefix,
  log,
}: SubscriptionNeeds): RedisSubscriptions {
  const listening = createListenerLists({ channelPrefix, log });
  let connection: RedisConnection | null = null;
  let closed = false;
  let changes: Promise<unknown> = Promise.resolve();

  /** Serializes subscribing and unsubscribing: otherwise a late unsubscription would undo a newer subscription. */
  function inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = changes.then(change);
    changes = result.catch(() => {});
    return result;
  }

  async function prepare(client: RedisClient): Promise<void> {
    const channels = [...listening.channels.keys()];
    if (channels.length > 0) await client.subscribe(channels, listening.deliver);
  }

  async function enter(channel: string, listener: Listener): Promise<void> {
    if (closed) throw sharedStateClosed();
    connection ??= await connect({ prepare, onRestored: listening.notifyGap });
    if (!listening.channels.has(channel)) {
      await connection.use((client) => client.subscribe(channel, listening.deliver));
      listening.channels.set(channel, new Set());
    }
    listening.channels.get(channel)?.add(listener);
  }

  async function leave(channel: string): Promise<void> {
    if (listening.channels.get(channel)?.size !== 0) return;
    listening.channels.delete(channel);
    // After a reconnection this channel is not subscribed again.
    await connection?.use((client) => client.unsubscribe(channel)).catch(() => {});
  }

  return {
    async subscribe(topic, { onMessage, onGap }) {
      const channel = channelPrefix + topic;
      const listener = { onMessage, onGap };
      await inTurn(() => enter(channel, listener));
      return {
        async close() {
          listening.channels.get(channel)?.delete(listener);
          await inTurn(() => leave(channel));
        },
      };
    },

    notifyGap: listening.notifyGap,

    async close() {
      closed = true;
      listening.channels.clear();
      await inTurn(async () => connection?.close());
    },
  };
}

function createListenerLists({ channelPrefix, log }: Pick<SubscriptionNeeds, 'channelPrefix' | 'log'>) {
  /** The confirmed channels. One without listeners is about to be unsubscribed. */
  const channels = new Map<string, Set<Listener>>();

  function callSafely(channel: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      const topic = channel.slice(channelPrefix.length);
      log.error('a handler of shared-state messages failed', { topic, error });
    }
  }

  return {
    channels,

    deliver(message: string, channel: string): void {
      for (const { onMessage } of channels.get(channel) ?? []) callSafely(channel, () => onMessage(message));
    },

    notifyGap(): void {
      for (const [channel, listeners] of channels) {
        for (const { onGap } of listeners) callSafely(channel, onGap);
      }
    },
  };
}
