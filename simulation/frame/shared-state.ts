import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import type { SharedState, SharedStateFailure } from '../../src/ports/shared-state.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import type { Requests } from './requests.ts';
import { NEVER, type Owner, type Scheduler } from './scheduler.ts';

export type StateTrouble =
  | { readonly kind: 'away' }
  | { readonly kind: 'silent' }
  /** Of requests so many in a hundred lose their connection, before or after their effect. */
  | { readonly kind: 'errors'; readonly percent: number };

export interface SimulatedState {
  connect(owner: Owner): SharedState;
  /** In the memory of that process: without a network. */
  connectWithin(owner: Owner): SharedState;
  trouble: StateTrouble | null;
  /** All of it is gone; connections stay. */
  flush(): void;
  /** A replica takes over that lacks what was written in the last so many milliseconds; all connections break. */
  failOver(lostMs: number): void;
  /** Everyone who subscribed has a new connection, and may have missed messages. */
  reconnect(): void;
  left(owner: Owner): void;
  /** What is held at the moment, as an operator would look at it. */
  look(): Promise<SharedState>;
}

interface StateParts {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly requests: Requests;
}

type InProcess = ReturnType<typeof createInProcessState>;

interface Written {
  readonly atMs: number;
  apply(state: InProcess): Promise<unknown>;
}

interface Subscription {
  readonly owner: Owner;
  readonly topic: string;
  readonly onMessage: (message: string) => void;
  readonly onGap: () => void;
}

const TIMEOUT_MS = 1_000;

/** One Redis for all processes. What it was given is remembered, so that a replica can be made that lacks the end. */
export function createSimulatedState({ scheduler, random, requests }: StateParts): SimulatedState {
  const subscriptions = new Set<Subscription>();
  let written: Written[] = [];
  let replayedAtMs: number | null = null;
  const clock = { uptimeMs: () => replayedAtMs ?? scheduler.nowMs() };
  let state = createInProcessState({ clock });
  /** Writes come one after the other, also while a replica is being made. */
  let making: Promise<void> = Promise.resolve();

  const simulated: SimulatedState = {
    trouble: null,
    connect,
    connectWithin: (owner) => {
      const within = <T>(work: () => Promise<T>): Promise<T> => (owner.isAlive ? work() : NEVER);
      return {
        ...connect(owner),
        reserve: (tag, claims) => within(() => state.reserve(tag, claims)),
        settle: (tag, settlements) => within(() => state.settle(tag, settlements)),
        get: (key) => within(() => state.get(key)),
        set: (key, value, ttlMs) => within(() => state.set(key, value, ttlMs)),
        setIfAbsent: (key, value, ttlMs) => within(() => state.setIfAbsent(key, value, ttlMs)),
        delete: (key) => within(() => state.delete(key)),
      };
    },
    look: async () => {
      await making;
      return state;
    },
    flush() {
      written = [];
      state = createInProcessState({ clock });
    },
    failOver(lostMs) {
      const untilMs = scheduler.nowMs() - lostMs;
      written = written.filter(({ atMs }) => atMs <= untilMs);
      const replica = createInProcessState({ clock });
      state = replica;
      const release = scheduler.hold();
      making = replay(replica, written).finally(release);
      simulated.reconnect();
    },
    reconnect() {
      for (const one of subscriptions) {
        scheduler.at(one.owner, 5 + random.below(200), () => subscriptions.has(one) && one.onGap());
      }
    },
    left(owner) {
      for (const one of subscriptions) if (one.owner === owner) subscriptions.delete(one);
    },
  };

  /** At the moments at which it was written: what has expired since then expires again. */
  async function replay(replica: InProcess, log: readonly Written[]): Promise<void> {
    for (const { atMs, apply } of log) {
      replayedAtMs = atMs;
      await apply(replica).catch(() => {});
    }
    replayedAtMs = null;
  }

  function faultOf() {
    const { trouble } = simulated;
    const when = random.pick(['before', 'after'] as const);
    if (trouble === null || (trouble.kind === 'errors' && random.below(100) >= trouble.percent)) return null;
    if (trouble.kind === 'silent') return { when, error: failure('time-out'), afterMs: TIMEOUT_MS };
    const isUnavailable = trouble.kind === 'away';
    return { when: isUnavailable ? ('before' as const) : when, error: failure('unavailable'), afterMs: 1 };
  }

  function connect(owner: Owner): SharedState {
    const write = <T>(what: string, apply: (to: InProcess) => Promise<T>): Promise<T> =>
      requests.send(
        owner,
        `state ${what}`,
        async () => {
          await making;
          written.push({ atMs: scheduler.nowMs(), apply });
          return await apply(state);
        },
        faultOf,
      );
    return {
      reserve: (tag, claims) => write('reserve', (to) => to.reserve(tag, claims)),
      settle: (tag, settlements) => write('settle', (to) => to.settle(tag, settlements)),
      get: (key) => requests.send(owner, 'state get', () => state.get(key), faultOf),
      set: (key, value, ttlMs) => write('set', (to) => to.set(key, value, ttlMs)),
      setIfAbsent: (key, value, ttlMs) => write('set', (to) => to.setIfAbsent(key, value, ttlMs)),
      delete: (key) => write('delete', (to) => to.delete(key)),
      publish: (topic, message) =>
        requests.send(owner, `state publish ${topic}`, () => deliver(topic, message), faultOf),
      listeners: (topic) =>
        requests.send(
          owner,
          'state listeners',
          () => [...subscriptions].filter((one) => one.topic === topic).length,
          faultOf,
        ),
      async subscribe(topic, onMessage, onGap) {
        const one = { owner, topic, onMessage, onGap };
        subscriptions.add(one);
        return { close: async () => void subscriptions.delete(one) };
      },
      check: () => requests.send(owner, 'state check', () => {}, faultOf),
      close: async () => {},
    };
  }

  function deliver(topic: string, message: string): void {
    for (const one of subscriptions) {
      if (one.topic !== topic) continue;
      scheduler.at(one.owner, 1 + random.below(15), () => subscriptions.has(one) && one.onMessage(message));
    }
  }

  return simulated;
}

function failure(reason: SharedStateFailure['reason']): SharedStateFailure {
  const error = new Error(`shared state: ${reason}`);
  return Object.assign(error, { name: 'SharedStateFailure' as const, reason });
}
