import { readQueueDepths } from '../adapters/job-queue/queue-depths.ts';
import { createAiService } from '../ai-service/server.ts';
import type { WorkerBoard } from '../ai-service/worker-board.ts';
import { createBackend } from '../backend/server.ts';
import type { Listening } from '../http/listen.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { docsFiles } from './docs-files.ts';
import { accepted } from './kept-secrets.ts';
import { type Matching, withGenerator } from './matching.ts';
import { withMetrics } from './metrics-beside.ts';
import { openBackendParts } from './open-backend.ts';
import type { ModelParts } from './open-models.ts';
import { type OpenedSandbox, openSandbox, type Payments } from './open-payments.ts';
import { checksOf, openServer } from './open-server.ts';
import type { Opening, ServiceOpening } from './start-service.ts';

export async function startBackend(
  opening: ServiceOpening,
  jobQueue: JobQueue,
  payments: Payments,
): Promise<Listening> {
  const { fetch, sockets } = createBackend({
    ...(await openBackendParts(opening, jobQueue, payments)),
    dependencies: checksOf(opening),
  });
  return openServer(
    opening,
    'backend',
    'BACKEND_PORT',
    opening.configuration.ports.backend,
    withMetrics(opening, null, fetch),
    {
      sockets,
    },
  );
}

export function startAiService(
  parts: ServiceOpening,
  { breakers, models }: Pick<ModelParts, 'breakers' | 'models'>,
  workers: WorkerBoard,
  matching: Matching,
  jobQueue: JobQueue,
): Listening {
  const app = createAiService({
    ...parts,
    ...matching,
    jobQueue,
    breakers,
    docsFiles: docsFiles(),
    models,
    queueDepths: () => readQueueDepths(parts.database),
    log: parts.log.with({ service: 'ai-service' }),
    maxBodyBytes: parts.configuration.maxBodyBytes,
    answerTimeoutMs: parts.configuration.answerTimeoutMs,
    dependencies: checksOf(parts),
    pool: () => parts.database.pool(),
    workers: withGenerator(workers, matching),
    circuitBreakers: breakers.states,
    internalTokens: accepted(parts.ownSecrets, 'internalToken'),
  });
  return openServer(parts, 'ai-service', 'AI_PORT', parts.configuration.ports.ai, app.fetch);
}

/** Null where there is none. */
export function startSandbox(opening: Opening): (Listening & Pick<OpenedSandbox, 'begin'>) | null {
  const { paymentSandbox, ports } = opening.configuration;
  if (!paymentSandbox) return null;
  const { fetch, begin } = openSandbox(opening);
  return { ...openServer(opening, 'sandbox', 'SANDBOX_PORT', ports.sandbox, fetch), begin };
}
