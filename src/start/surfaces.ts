import { createSandbox } from '../adapters/payment-provider/sandbox.ts';
import { createAiService } from '../ai-service/server.ts';
import type { WorkerBoard } from '../ai-service/worker-board.ts';
import { createBackend } from '../backend/server.ts';
import { createGateway } from '../gateway/server.ts';
import { createDependencyChecks, type DependencyChecks } from '../http/dependency-checks.ts';
import { type Listening, type ListenOptions, listen } from '../http/listen.ts';
import type { Parts } from './connect.ts';
import { needed } from './kept-secrets.ts';
import { openGatewayParts } from './open-gateway.ts';
import { describe, StartProblem } from './start-problem.ts';
import type { Opening } from './start-service.ts';

const DATABASE_CHECK_MS = 2_000;
const CACHE_CHECK_MS = 1_000;

export async function startGateway(
  opening: Opening,
  { reusePort }: { reusePort: boolean },
): Promise<Listening> {
  const { ports, maxBodyBytes } = opening.configuration;
  const dependencies = checksOf(opening);
  const app = createGateway({ ...(await openGatewayParts(opening)), maxBodyBytes, dependencies });
  return open(opening, 'gateway', 'GATEWAY_PORT', ports.gateway, app.fetch, reusePort);
}

export function startBackend(parts: Parts): Listening {
  const { maxBodyBytes, answerTimeoutMs } = parts.configuration;
  const log = parts.log.with({ service: 'backend' });
  const app = createBackend({ ...parts, log, maxBodyBytes, answerTimeoutMs, dependencies: checksOf(parts) });
  return open(parts, 'backend', 'BACKEND_PORT', parts.configuration.ports.backend, app.fetch);
}

export function startAiService(parts: Parts, workers: WorkerBoard): Listening {
  const app = createAiService({
    ...parts,
    log: parts.log.with({ service: 'ai-service' }),
    maxBodyBytes: parts.configuration.maxBodyBytes,
    answerTimeoutMs: parts.configuration.answerTimeoutMs,
    dependencies: checksOf(parts),
    pool: () => parts.database.pool(),
    workers,
    internalToken: needed(parts.ownSecrets, 'internalToken'),
  });
  return open(parts, 'ai-service', 'AI_PORT', parts.configuration.ports.ai, app.fetch);
}

export function startSandbox(parts: Parts): Listening {
  const { fetch } = createSandbox();
  return open(parts, 'sandbox', 'SANDBOX_PORT', parts.configuration.ports.sandbox, fetch);
}

function checksOf({ database, sharedState, clock }: Parts): DependencyChecks {
  const lookAtDatabase = async () => void (await database.query('select 1'));
  const dependencies = [
    { name: 'database', timeoutMs: DATABASE_CHECK_MS, check: lookAtDatabase },
    { name: 'cache', timeoutMs: CACHE_CHECK_MS, check: () => sharedState.check() },
  ];
  return createDependencyChecks(dependencies, clock);
}

function open(
  { configuration, clock, log }: Parts,
  name: string,
  setting: string,
  port: number,
  fetch: ListenOptions['fetch'],
  reusePort = false,
): Listening {
  const { host, maxBodyBytes } = configuration;
  try {
    return listen({ name, fetch, hostname: host, port, reusePort, maxBodyBytes, clock, log });
  } catch (error) {
    if ((error as { code?: string }).code === 'EADDRINUSE') {
      throw new StartProblem(`port ${port} is in use: stop what uses it, or set ${setting} to another one`);
    }
    throw new StartProblem(`${setting} ${port} on HOST ${host} cannot be opened: ${describe(error)}`);
  }
}
