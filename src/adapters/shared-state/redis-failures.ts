import type { SharedStateFailure } from '../../ports/shared-state.ts';
import { sharedStateFailure } from './failure.ts';
import type { RedisAddress } from './redis-address.ts';

/** The second is what Bun makes of a refused SELECT, when the URL names a database that does not exist. */
const SERVER_ERRORS: unknown[] = ['ERR_REDIS_SERVER_ERROR', 'ERR_REDIS_INVALID_COMMAND'];

/** What the server says where it will be able to answer later; everything else it says is for good. */
const PASSING = /^(LOADING|BUSY|MASTERDOWN|READONLY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|MISCONF)\b/;

/** The server's own answer, as opposed to a broken connection. */
export function isServerError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && SERVER_ERRORS.includes(error.code);
}

/** The server has not run anything: it does not know the script's hash. */
export function isUnknownScript(error: unknown): boolean {
  return isServerError(error) && error.message.startsWith('NOSCRIPT');
}

export function refused({ place, withoutPassword }: RedisAddress, error: Error): SharedStateFailure {
  const said = withoutPassword(error.message);
  if (PASSING.test(said)) {
    return sharedStateFailure(
      'unavailable',
      `Redis at ${place} cannot answer now (${said}): try again later.`,
    );
  }
  return sharedStateFailure(
    'refused',
    `Redis at ${place} refused a command (${said}): check its version, the user's rights and the URL.`,
  );
}

/** Bun says no more than "Connection closed", for a wrong password too. */
export function unreachable({ place }: RedisAddress): SharedStateFailure {
  return sharedStateFailure(
    'unavailable',
    `Redis at ${place} cannot be reached, or refuses the user name and password of its URL: check that it runs and that the URL is right.`,
  );
}

export function silent({ place }: RedisAddress, timeoutMs: number): SharedStateFailure {
  return sharedStateFailure(
    'time-out',
    `Redis at ${place} did not answer within ${timeoutMs} ms: check its load and the network.`,
  );
}

export function lost({ place }: RedisAddress): SharedStateFailure {
  return sharedStateFailure(
    'unavailable',
    `The connection to Redis at ${place} was lost during a command: check that it runs, then try again.`,
  );
}
