import { createDependencyChecks, type DependencyChecks } from '../http/dependency-checks.ts';
import { type Listening, type ListenOptions, listen } from '../http/listen.ts';
import type { SocketService } from '../http/web-socket.ts';
import type { Parts } from './connect.ts';
import { describe, StartProblem } from './start-problem.ts';

const DATABASE_CHECK_MS = 2_000;
const CACHE_CHECK_MS = 1_000;

export function checksOf({ database, sharedState, clock }: Parts): DependencyChecks {
  const lookAtDatabase = async () => void (await database.query('select 1'));
  const dependencies = [
    { name: 'database', timeoutMs: DATABASE_CHECK_MS, check: lookAtDatabase },
    { name: 'cache', timeoutMs: CACHE_CHECK_MS, check: () => sharedState.check() },
  ];
  return createDependencyChecks(dependencies, clock);
}

/** Listens, or says in one sentence why it cannot. */
export function openServer(
  { configuration, clock, log }: Parts,
  name: string,
  setting: string,
  port: number,
  fetch: ListenOptions['fetch'],
  { reusePort = false, sockets }: { reusePort?: boolean; sockets?: SocketService } = {},
): Listening {
  const { host, maxBodyBytes } = configuration;
  try {
    return listen({ name, fetch, hostname: host, port, reusePort, maxBodyBytes, sockets, clock, log });
  } catch (error) {
    if ((error as { code?: string }).code === 'EADDRINUSE') {
      throw new StartProblem(`port ${port} is in use: stop what uses it, or set ${setting} to another one`);
    }
    throw new StartProblem(`${setting} ${port} on HOST ${host} cannot be opened: ${describe(error)}`);
  }
}
