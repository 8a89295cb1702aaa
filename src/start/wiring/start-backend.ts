import { join } from 'node:path';
import { readQueueDepths } from '../../adapters/job-queue/boss-tables.ts';
import { createOidcTransport } from '../../adapters/oidc-transport/http-transport.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { ConsoleBuild } from '../../backend/console-files.ts';
import { OIDC_CALLBACK_PATH } from '../../backend/oidc-session.ts';
import { type BackendParts, createBackend } from '../../backend/server.ts';
import { storeDefaultCeilings } from '../../domain/accounts/ceilings.ts';
import { createOidc } from '../../domain/accounts/oidc.ts';
import { createAccessTokens } from '../../domain/accounts/tokens.ts';
import { createAnswerCipher } from '../../domain/calls/idempotency/answer-cipher.ts';
import { chargeDeferredIn } from '../../domain/calls/settlement/deferred-calls.ts';
import { createHeldCredits } from '../../domain/credits/holds/holds.ts';
import { fieldsOfPosting, type ReadPosting } from '../../domain/jobs/read-posting.ts';
import { createCompanyCounters } from '../../domain/limits/company-ceilings.ts';
import { createLogWatchers } from '../../domain/logs/live-log.ts';
import { createClientAddress } from '../../http/client-identity.ts';
import type { Listening } from '../../http/listen.ts';
import { databaseMetric } from '../../http/metrics.ts';
import { failingFast } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { isDemoFileValid } from '../demo/demo-world.ts';
import type { Opening, ServiceOpening } from '../processes/start-service.ts';
import { addressesToSet, consoleUrl, gatewayUrl } from '../settings/addresses.ts';
import { accepted } from '../settings/secrets.ts';
import { alertParts } from './open-alerts.ts';
import { mailOutbox, openMailFolder } from './open-mail.ts';
import { catalogueParts, openApproveHost, openEngine, openProviders } from './open-models.ts';
import type { Payments } from './open-payments.ts';
import { checksOf, docsFiles, openServer, withMetrics } from './open-server.ts';

const UNREACHABLE_LINKS =
  'links in mails and in the console lead to this machine: set the addresses at which people reach them';

export async function startBackend(
  opening: ServiceOpening,
  jobQueue: JobQueue,
  payments: Payments,
): Promise<Listening> {
  const { ports } = opening.configuration;
  const settings = addressesToSet(opening.configuration);
  if (settings.length > 0) opening.log.warn(UNREACHABLE_LINKS, { settings });
  const parts = await openBackendParts(opening, jobQueue, payments);
  const dependencies = checksOf(opening);
  const { fetch, sockets } = createBackend({ ...parts, dependencies });
  opening.metrics.add(databaseMetric(dependencies));
  const measured = withMetrics(opening, fetch);
  return openServer(opening, 'backend', 'BACKEND_PORT', ports.backend, measured, { sockets });
}

/** The parts of the backend besides those of every process. */
async function openBackendParts(
  opening: Opening,
  jobQueue: JobQueue,
  { provider, paymentEvents }: Payments,
): Promise<Omit<BackendParts, 'dependencies'>> {
  const { configuration, clock, databaseClock, secrets, sharedState, ownSecrets } = opening;
  const database = failingFast(opening.database);
  const { maxBodyBytes, answerTimeoutMs, aliasPrefix } = configuration;
  const log = opening.log.with({ service: 'backend' });
  const ownState = createInProcessState({ clock, log });
  await storeDefaultCeilings(database, configuration.companyCeilings);
  const logWatchers = createLogWatchers({ sharedState, clock });
  opening.whenClosing('watchers of the log', logWatchers.close);
  return {
    clock,
    databaseClock,
    secrets,
    database,
    sharedState,
    log,
    maxBodyBytes,
    answerTimeoutMs,
    aliasPrefix,
    requireSuperAdminTotp: configuration.requireSuperAdminTotp,
    trialCredits: configuration.trialCredits,
    requestsPerMinute: configuration.backendRequestsPerMinute,
    ownState,
    counters: createCompanyCounters({
      ...{ sharedState, ownState, clock, log },
      ownShare: configuration.limitShareAlone,
    }),
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
    checkoutTaxes: configuration.payments.taxes,
    heldCredits: createHeldCredits({ sharedState, log, chargeDeferred: chargeDeferredIn(database, clock) }),
    providers: openBackendProviders(opening),
    cipher: catalogueParts(opening).cipher,
    answerCipher: createAnswerCipher({ masterKeys: accepted(ownSecrets, 'masterKey'), secrets }),
    payloads: configuration.payloads,
    approveHost: openApproveHost(opening),
    alertRules: { webhooks: alertParts(opening).webhooks, allowsHttp: configuration.alerts.allowsHttp },
    clientAddress: createClientAddress(configuration.trustedProxies),
    consoleOrigin: new URL(consoleUrl(configuration)).origin,
    signUpMode: configuration.signUpMode,
    ...openOidc(opening),
    docsFiles: docsFiles(),
    internalTokens: ownSecrets.internalToken === null ? [] : accepted(ownSecrets, 'internalToken'),
    console: {
      build: buildConsole(log),
      gatewayUrl: gatewayUrl(configuration),
      hasDemoWorld: configuration.demoWorld && (await isDemoFileValid(database, ownSecrets.demoSeed)),
    },
  };
}

function openBackendProviders(opening: Opening) {
  const providers = openProviders(opening);
  opening.whenClosing('test calls to providers', async () => providers.close());
  return providers;
}

/** Sign-in through an OpenID provider, if one is configured. */
function openOidc(opening: Opening): Pick<BackendParts, 'oidc'> {
  const { configuration, clock, secrets } = opening;
  const { oidc: configured, signUpMode } = configuration;
  if (configured === null) return {};
  const { domains, roles, name, ...client } = configured;
  const redirectUri = `${consoleUrl(configuration)}${OIDC_CALLBACK_PATH}`;
  const { issuer } = client;
  const { usesProxy } = configuration;
  const transport = createOidcTransport({ issuer, approveHost: openApproveHost(opening), usesProxy });
  const oidc = createOidc({ settings: { ...client, redirectUri }, transport, clock, secrets });
  return { oidc: { oidc, name, rules: { domains, roles, signUpMode } } };
}

/**
 * Reads a pasted posting with the embedded engine. If that fails there is no draft; the document worker reads the
 * posting anyway.
 */
function openDraftPosting(opening: Opening): BackendParts['draftPosting'] {
  const engine = openEngine(opening);
  return async (text, companyId) => {
    try {
      const { value } = await engine.read('jd', text, companyId);
      return value === null ? {} : fieldsOfPosting(value as unknown as ReadPosting);
    } catch (error) {
      opening.log.warn('a posting could not be read at once', { error });
      return {};
    }
  };
}

const CONSOLE_SOURCE = join(import.meta.dir, '../../../console');

/**
 * Bundles the console from its source, so that no build step is needed before a start. If the build fails, the reason
 * is logged and the backend runs without pages.
 */
export async function buildConsole(log: Log, source = CONSOLE_SOURCE): Promise<ConsoleBuild> {
  try {
    const built = await Bun.build({
      entrypoints: [join(source, 'main.tsx')],
      root: source,
      target: 'browser',
      format: 'esm',
      splitting: true,
      minify: true,
      publicPath: '/assets/',
      naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
      define: { 'process.env.NODE_ENV': '"production"' },
    });
    const files = await Promise.all(
      built.outputs.map(async (output) => ({
        name: output.path.replace(/^.*\//, ''),
        bytes: new Uint8Array(await output.arrayBuffer()),
      })),
    );
    const named = (beginning: string, ending: string) =>
      files.find(({ name }) => name.startsWith(beginning) && name.endsWith(ending))?.name;
    const entry = built.outputs.find(({ kind }) => kind === 'entry-point')?.path.replace(/^.*\//, '');
    const style = named('main-', '.css');
    const icon = named('icon-', '.svg');
    if (entry === undefined || style === undefined || icon === undefined) {
      throw new Error('the console’s build made no script, no style or no icon');
    }
    return { outcome: 'built', files, script: entry, style, icon };
  } catch (error) {
    log.error('the console could not be built: the backend runs without its pages', { error });
    return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}
