import { readQueueDepths } from '../adapters/job-queue/queue-depths.ts';
import { createInProcessState } from '../adapters/shared-state/in-process.ts';
import type { BackendParts } from '../backend/server.ts';
import { createAccessTokens } from '../domain/accounts/access-token.ts';
import { createHeldCredits } from '../domain/credits/held-credits.ts';
import { createLogWatchers } from '../domain/logs/log-watchers.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { buildConsole } from './build-console.ts';
import type { Configuration } from './configuration.ts';
import { configuredAddresses } from './demo-file.ts';
import { openDraftPosting } from './draft-posting.ts';
import { accepted } from './kept-secrets.ts';
import { consoleUrl, mailOutbox, openMailFolder } from './open-mail.ts';
import { catalogueParts } from './open-models.ts';
import type { Payments } from './open-payments.ts';
import type { Opening } from './start-service.ts';

/** Everything the backend stands on besides what every process has. */
export async function openBackendParts(
  opening: Opening,
  jobQueue: JobQueue,
  { provider, paymentEvents }: Payments,
): Promise<Omit<BackendParts, 'dependencies'>> {
  const { configuration, clock, secrets, database, sharedState, ownSecrets } = opening;
  const { maxBodyBytes, answerTimeoutMs, aliasPrefix } = configuration;
  const log = opening.log.with({ service: 'backend' });
  const logWatchers = createLogWatchers({ sharedState, clock });
  opening.whenClosing('watchers of the log', logWatchers.close);
  return {
    clock,
    secrets,
    database,
    sharedState,
    log,
    maxBodyBytes,
    answerTimeoutMs,
    aliasPrefix,
    ownState: createInProcessState({ clock, log }),
    accessTokens: await createAccessTokens(accepted(ownSecrets, 'jwtSecret'), clock),
    mailOutbox: mailOutbox(opening, jobQueue),
    ...(configuration.mail.smtpUrl === null ? { capturedMail: await openMailFolder(opening) } : {}),
    jobQueue,
    queues: { ...jobQueue, depths: () => readQueueDepths(database) },
    draftPosting: openDraftPosting(opening),
    logWatchers,
    provider,
    paymentEvents,
    consoleUrl: consoleUrl(configuration),
    heldCredits: createHeldCredits({ sharedState, log }),
    cipher: catalogueParts(opening).cipher,
    clientAddress: createClientAddress(configuration.trustedProxies),
    consoleOrigin: new URL(consoleUrl(configuration)).origin,
    console: {
      build: buildConsole(log),
      gatewayUrl: gatewayUrl(configuration),
    },
  };
}

/** Where the console's playground calls the models. */
function gatewayUrl(configuration: Configuration): string {
  const origin = configuration.gatewayUrl ?? configuredAddresses(configuration).gateway;
  return `${origin.replace(/\/+$/, '')}/llm/v1`;
}
