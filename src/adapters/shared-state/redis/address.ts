import type { SharedStateFailure } from '../../../ports/shared-state.ts';
import { sharedStateFailure } from '../input-checks.ts';

/** The address of Redis and its error messages. They contain the address, never the password. */

const PROTOCOLS = [
  'redis:',
  'rediss:',
  'valkey:',
  'valkeys:',
  'redis+tls:',
  'redis+unix:',
  'redis+tls+unix:',
];

export interface RedisAddress {
  /** With the current credentials: for one connection of the client only. */
  readonly url: string;
  /** Host and port, for messages. */
  readonly place: string;
  /** Certificates of authorities that are trusted, besides those of the system. */
  readonly ca: string | null;
  /** Removes the password from a text: servers repeat the arguments of unknown commands. */
  withoutPassword(text: string): string;
  /** Another server, with the same credentials and the same TLS; null for the default user without a password. */
  at(place: string, password?: string | null): RedisAddress;
}

interface AddressOptions {
  /** In place of the one in the URL; read for each connection. */
  readonly password?: (() => string) | null | undefined;
  readonly ca?: string | null | undefined;
}

/** Rejects an invalid URL without quoting it: it may contain a password. */
export function readRedisAddress(
  url: string,
  { password = null, ca = null }: AddressOptions = {},
): RedisAddress {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !PROTOCOLS.includes(parsed.protocol)) {
    throw sharedStateFailure(
      'refused',
      'The URL of Redis cannot be read: write it as redis://user:password@host:6379 (rediss:// for TLS).',
    );
  }
  const secrets = new Set(withoutEmpty(parsed.password, decoded(parsed.password)));
  const isSocket = parsed.protocol.endsWith('unix:');
  return {
    get url() {
      // Unchanged if possible: the parser would change the meaning of an empty host or a socket path.
      if (password === null) return url;
      const current = password();
      parsed.password = encodeURIComponent(current);
      for (const secret of withoutEmpty(parsed.password, current)) secrets.add(secret);
      return parsed.href;
    },
    place: isSocket ? parsed.pathname : `${parsed.hostname || 'localhost'}:${parsed.port || '6379'}`,
    ca,
    withoutPassword: (text) => [...secrets].reduce((clean, secret) => clean.replaceAll(secret, '***'), text),
    at(place, other) {
      const { protocol, username, pathname } = parsed;
      const user =
        other === undefined ? `${username}:${parsed.password}` : `:${encodeURIComponent(other ?? '')}`;
      const credentials = user === ':' ? '' : `${user}@`;
      // Sentinels, which have credentials of their own, have no databases.
      const database = other === undefined ? pathname : '';
      const same = other === undefined ? password : null;
      return readRedisAddress(`${protocol}//${credentials}${place}${database}`, { ca, password: same });
    },
  };
}

function withoutEmpty(...secrets: readonly string[]): string[] {
  return secrets.filter((secret) => secret !== '');
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** The second is what Bun makes of a refused SELECT, when the URL names a database that does not exist. */
const SERVER_ERRORS: unknown[] = ['ERR_REDIS_SERVER_ERROR', 'ERR_REDIS_INVALID_COMMAND'];

/** Temporary errors of the server. All others are permanent. */
const PASSING = /^(LOADING|BUSY|MASTERDOWN|READONLY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|MISCONF)\b/;

/** An error reply of the server, as opposed to a broken connection. */
export function isServerError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && SERVER_ERRORS.includes(error.code);
}

/** A demoted primary: the next connection must look up the new primary. */
export function isReadOnly(error: unknown): boolean {
  return isServerError(error) && error.message.startsWith('READONLY');
}

/** The server does not know the hash of the script and has run nothing. */
export function isUnknownScript(error: unknown): boolean {
  return isServerError(error) && error.message.startsWith('NOSCRIPT');
}

export function redisRefused({ place, withoutPassword }: RedisAddress, error: Error): SharedStateFailure {
  const message = withoutPassword(error.message);
  if (PASSING.test(message)) {
    return sharedStateFailure(
      'unavailable',
      `Redis at ${place} cannot answer now (${message}): try again later.`,
    );
  }
  return sharedStateFailure(
    'refused',
    `Redis at ${place} refused a command (${message}): check its version, the user's rights and the URL.`,
  );
}

/** Bun says no more than "Connection closed", for a wrong password too. */
export function redisUnreachable({ place, url }: RedisAddress): SharedStateFailure {
  const tls = /^(rediss|valkeys|redis\+tls)/.test(url)
    ? ', or its certificate is not trusted (REDIS_CA_FILE) or for another name'
    : '';
  return sharedStateFailure(
    'unavailable',
    `Redis at ${place} cannot be reached, or refuses the user name and password of its URL${tls}: check that it runs and that the URL is right.`,
  );
}

export function redisSilent({ place }: RedisAddress, timeoutMs: number): SharedStateFailure {
  return sharedStateFailure(
    'time-out',
    `Redis at ${place} did not answer within ${timeoutMs} ms: check its load and the network.`,
  );
}

export function redisOutOfSync({ place }: RedisAddress): SharedStateFailure {
  return sharedStateFailure(
    'unavailable',
    `Redis at ${place} sent the reply of another command, and the connection was closed: check proxies between this process and Redis.`,
  );
}

export function redisLost({ place }: RedisAddress): SharedStateFailure {
  return sharedStateFailure(
    'unavailable',
    `The connection to Redis at ${place} was lost during a command: check that it runs, then try again.`,
  );
}
