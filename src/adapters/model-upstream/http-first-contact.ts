import { connect as connectTcp } from 'node:net';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/**
 * The time limit for connecting. Bun's fetch does not distinguish connecting from waiting for an answer, and a model may
 * take a minute to answer. So if a host has not answered for 10 s, a plain TCP connection is tried beside the fetch. If it
 * is not established in time and nothing has answered either, the waiting fetches are aborted.
 *
 * A refused connection is left to the fetch, which is refused too: only a missing answer counts here. A fetch on an
 * existing connection is not aborted because a server accepts no new ones.
 */
const RECENTLY_MS = 10_000;
/** Calls join a probe that is younger than this, so there are at most 6 per host, each with at least 4 s. */
const JOIN_MS = 1_000;
/** Six aliases have at most 192 targets; the rest is for replaced hosts. */
const MOST_HOSTS = 256;
const NEVER = Number.NEGATIVE_INFINITY;

/** Reports whether a connection was established. `cancel` aborts or closes it, and may be called twice. */
export type Connect = (
  place: { readonly hostname: string; readonly port: number },
  settled: (isConnected: boolean) => void,
) => { cancel(): void };

interface Host {
  readonly hostname: string;
  readonly port: number;
  readonly trials: Set<Trial>;
  answeredAt: number;
  isLost: boolean;
}

interface Trial {
  readonly startedAt: number;
  readonly waiting: Set<() => void>;
  end(): void;
}

/** One call's wait for its host. */
interface Contact {
  /** The host has answered. */
  answered(): void;
  /** The call has ended without an answer. */
  leave(): void;
}

interface FirstContactParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly connectTimeoutMs: number;
  readonly connect: Connect;
}

interface FirstContact {
  begin(baseUrl: string, onUnreachable: () => void): Contact;
}

export function createFirstContact({
  clock,
  log,
  connectTimeoutMs,
  connect,
}: FirstContactParts): FirstContact {
  const hosts = new Map<string, Host>();

  function hostOf(baseUrl: string): Host {
    const known = hosts.get(baseUrl);
    if (known !== undefined) return known;
    const [oldest] = hosts.keys();
    if (oldest !== undefined && hosts.size >= MOST_HOSTS) hosts.delete(oldest);
    const host = { ...placeOf(baseUrl), trials: new Set<Trial>(), answeredAt: NEVER, isLost: false };
    hosts.set(baseUrl, host);
    return host;
  }

  function answered(host: Host): void {
    host.answeredAt = clock.now();
    host.isLost = false;
    for (const trial of host.trials) trial.end();
  }

  function tryHost(host: Host): Trial {
    const waiting = new Set<() => void>();
    const connection = connect(host, (isConnected) => (isConnected ? answered(host) : trial.end()));
    const timer = clock.after(connectTimeoutMs, () => {
      const givenUp = [...waiting];
      trial.end();
      if (!host.isLost) {
        const { hostname, port } = host;
        log.warn('a provider does not accept connections', { hostname, port, connectTimeoutMs });
      }
      host.isLost = true;
      for (const giveUp of givenUp) giveUp();
    });
    const trial: Trial = {
      startedAt: clock.now(),
      waiting,
      end() {
        timer.cancel();
        connection.cancel();
        waiting.clear();
        host.trials.delete(trial);
      },
    };
    host.trials.add(trial);
    return trial;
  }

  function youngTrial(host: Host): Trial | null {
    for (const trial of host.trials) if (clock.now() - trial.startedAt < JOIN_MS) return trial;
    return null;
  }

  return {
    begin(baseUrl, onUnreachable) {
      const host = hostOf(baseUrl);
      if (clock.now() - host.answeredAt < RECENTLY_MS) return { answered: () => answered(host), leave() {} };
      const trial = youngTrial(host) ?? tryHost(host);
      trial.waiting.add(onUnreachable);
      return {
        answered: () => answered(host),
        leave() {
          // The probe ends with its last waiter.
          if (trial.waiting.delete(onUnreachable) && trial.waiting.size === 0) trial.end();
        },
      };
    },
  };
}

function placeOf(baseUrl: string): { hostname: string; port: number } {
  const { hostname, port, protocol } = new URL(baseUrl);
  const standardPort = protocol === 'https:' ? 443 : 80;
  // IPv6 addresses have brackets in URLs only.
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? standardPort : Number(port) };
}

/** Node's, because a connection of Bun.connect cannot be aborted before it is established. */
export const tcpConnect: Connect = ({ hostname, port }, settled) => {
  const socket = connectTcp({ host: hostname, port });
  socket.once('connect', () => settled(true));
  socket.on('error', () => settled(false));
  return { cancel: () => void socket.destroy() };
};
