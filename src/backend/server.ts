import { type AttemptsParts, createAttempts } from '../domain/accounts/attempt-limits.ts';
import { createConsoleAssets } from '../domain/console-assets/console-assets.ts';
import { addServiceHealth, type DependencyChecks } from '../http/health.ts';
import type { SocketService } from '../http/listen.ts';
import type { DocsFiles } from '../http/openapi.ts';
import { createServiceApp, type ServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import { addApiDocs } from './api-docs.ts';
import { addBrowserSession } from './browser-session.ts';
import { addCallExport } from './call-export.ts';
import { addConsoleFiles, type ConsoleParts } from './console-files.ts';
import { countAnswers } from './graphql/answer-size.ts';
import { addGraphql, type EndpointParts } from './graphql/endpoint.ts';
import { createSchema } from './graphql/schema.ts';
import { createLiveLogs, type LiveLogsParts } from './live-logs/live-logs.ts';
import { addOidcSession, type OidcSessionParts } from './oidc-session.ts';
import { addOperations, guardOperations, type OperationsParts } from './operations-summary.ts';
import { addPaymentWebhook } from './payment-webhook.ts';
import { createRequestLimits, type RequestLimitsParts } from './request-limits.ts';

export interface BackendParts
  extends ServiceAppParts,
    Omit<EndpointParts, 'attempts' | 'requestLimits'>,
    Pick<RequestLimitsParts, 'requestsPerMinute'>,
    Pick<OperationsParts, 'internalTokens'>,
    Pick<LiveLogsParts, 'maxSockets' | 'maxSocketsOfAddress'> {
  readonly dependencies: DependencyChecks;
  /** This process's own counters, used while shared state is unavailable. */
  readonly ownState: AttemptsParts['ownState'];
  /** Undefined if users sign in with a password only. */
  readonly oidc?: Pick<OidcSessionParts, 'oidc' | 'rules'> & { readonly name: string };
  /** Undefined if there is no documentation to serve. */
  readonly docsFiles?: DocsFiles;
  /** Undefined if there are no pages to serve. */
  readonly console?: Pick<ConsoleParts, 'build' | 'gatewayUrl' | 'hasDemoWorld'>;
}

interface Backend {
  readonly fetch: ServiceApp['fetch'];
  /** All routes, for tests that compare them with the API documents. */
  readonly routes: ServiceApp['routes'];
  readonly sockets: SocketService;
}

/** The service of companies and super admins. */
export function createBackend(parts: BackendParts): Backend {
  const app = createServiceApp(parts, (guarded) => guardOperations(guarded, parts));
  const schema = countAnswers(createSchema());
  const requestLimits = createRequestLimits(parts);
  const graphqlParts = { ...parts, attempts: createAttempts(parts), requestLimits };
  addServiceHealth(app, parts.dependencies);
  addOperations(app, parts);
  if (parts.docsFiles !== undefined) addApiDocs(app, parts.docsFiles);
  addPaymentWebhook(app, graphqlParts);
  addGraphql(app, schema, graphqlParts);
  addCallExport(app, graphqlParts);
  if (parts.oidc !== undefined) addOidcSession(app, { ...graphqlParts, ...parts.oidc });
  addBrowserSession(app, parts);
  if (parts.console !== undefined) {
    const { consoleUrl, signUpMode, oidc, log, trialCredits } = parts;
    const assets = createConsoleAssets(parts);
    const oidcName = oidc?.name ?? null;
    addConsoleFiles(app, { ...parts.console, assets, log, consoleUrl, signUpMode, oidcName, trialCredits });
  }
  return { fetch: app.fetch, routes: app.routes, sockets: createLiveLogs(schema, graphqlParts) };
}
