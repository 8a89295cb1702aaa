import { z } from 'zod';
import {
  createDocs,
  type DescribedAnswer,
  type DescribedRoute,
  DOCS_PATHS,
  type DocsFiles,
  openApiDocument,
} from '../http/openapi.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { CALL_EXPORT_PATH } from './call-export.ts';
import { OPERATIONS_PATH, operationsSummary } from './operations-summary.ts';
import { SIGNATURE_HEADER, WEBHOOK_PATH } from './payment-webhook.ts';

const AT = '2026-11-15T09:00:00.000Z';
const UP = { status: 'up', latency_ms: 1 };
const part = z.looseObject({ status: z.enum(['up', 'degraded', 'down']), latency_ms: z.number() });
const healthAnswer = z.looseObject({
  status: z.enum(['ok', 'degraded']),
  ...{ database: part.optional(), cache: part.optional(), journal: part.optional(), usage: part.optional() },
  secrets: part.optional(),
});

const health: readonly DescribedRoute[] = [
  {
    ...{
      method: 'get',
      path: '/health',
      summary: 'Whether the process runs, and the state of its dependencies.',
      needsToken: false,
    },
    answers: [
      {
        ...{ status: 200, means: 'The process runs; `status` is `degraded` while a dependency is not well.' },
        schema: healthAnswer,
        example: { status: 'ok', database: UP, cache: UP, journal: { ...UP, set_aside: 0 } },
      },
    ],
  },
  {
    ...{
      method: 'get',
      path: '/healthz',
      summary: 'The process runs. For load balancers.',
      needsToken: false,
    },
    answers: [{ status: 200, means: '`ok`', contentType: 'text/plain' }],
  },
];

const refusedEvent = (status: number, means: string): DescribedAnswer => {
  return {
    status,
    means: `${means} Plain text that begins with "Webhook Error:".`,
    contentType: 'text/plain',
  };
};

const webhook: DescribedRoute = {
  ...{ method: 'post', path: WEBHOOK_PATH, needsToken: false },
  summary: 'An event of the payment provider, signed with the signing secret (WEBHOOK_SECRET).',
  headers: z.strictObject({ [SIGNATURE_HEADER]: z.string() }),
  body: {
    schema: z.looseObject({
      id: z.string(),
      type: z.string(),
      data: z.looseObject({ object: z.looseObject({}) }),
    }),
    example: {
      id: 'evt_1',
      type: 'invoice.paid',
      api_version: '2023-10-16',
      data: { object: { id: 'in_1' } },
    },
  },
  answers: [
    {
      ...{ status: 200, means: 'The event is stored. Duplicates are accepted.', example: { received: true } },
      schema: z.strictObject({ received: z.literal(true) }),
    },
    refusedEvent(400, 'The signature is missing or wrong, or the payload cannot be read.'),
    refusedEvent(415, 'An unknown content encoding.'),
    refusedEvent(429, 'Too many events with a wrong signature from one address.'),
  ],
};

const graphqlAnswer = z.looseObject({
  data: z.unknown().optional(),
  errors: z.array(z.looseObject({})).optional(),
});
const graphql: DescribedRoute = {
  ...{ method: 'post', path: '/graphql', needsToken: false },
  summary:
    'GraphQL. Introspection works without a token; protected operations need "Authorization: Bearer <access token>". ' +
    'Subscriptions are served at the same address over WebSocket (graphql-transport-ws).',
  body: {
    schema: z.looseObject({ query: z.string(), variables: z.looseObject({}).optional() }),
    example: { query: '{ __typename }' },
  },
  answers: [
    {
      ...{
        status: 200,
        means: 'The standard GraphQL response; errors are in `errors`.',
        schema: graphqlAnswer,
      },
      example: { data: { __typename: 'Query' } },
    },
    ...[
      [400, 'The body is not a query, or it fails validation.'],
      [413, 'The body is too large.'],
      [415, 'The body is not JSON.'],
      [429, 'Too many requests.'],
    ].map(([status, means]) => ({ status: Number(status), means: String(means), schema: graphqlAnswer })),
  ],
};

const operations: readonly DescribedRoute[] = [
  {
    ...{ method: 'get', path: OPERATIONS_PATH, needsToken: true },
    summary:
      'The state of the deployment: dependencies, processes of all services, payment events and queues.',
    answers: [
      {
        ...{ status: 200, means: '`degraded` where something needs an operator.', schema: operationsSummary },
        example: {
          ...{ status: 'ok', dependencies: { database: UP, cache: UP } },
          services: [{ service: 'gateway', processes: 2, ready: 2, stale: 0, versions: ['0.1.0'] }],
          payment_events: { received: 0, deferred: 1, failed: 0, oldest_received_at: AT },
          queues: [{ name: 'email', waiting: 0, active: 0, dead: 0, oldest_waiting_seconds: null }],
        },
      },
    ],
  },
  {
    ...{ method: 'get', path: '/metrics', summary: 'For Prometheus. Requires METRICS_TOKEN if it is set.' },
    needsToken: true,
    answers: [{ status: 200, means: 'Prometheus’ text.', contentType: 'text/plain' }],
  },
];

const text = z.string().optional();
const callExport: DescribedRoute = {
  ...{ method: 'get', path: CALL_EXPORT_PATH, needsToken: true },
  summary:
    'Streams the calls of the company as a file. Requires the access token of a company admin; super admins can export any company or all.',
  query: z.object({
    ...{ format: z.enum(['csv', 'jsonl']), from: text, to: text, model: text, status: text, code: text },
    ...{ user: text, tag: text, request_id: text, api_key_id: text, company_id: text, limit: text },
    ...{ min_duration_ms: text, min_credits: text, after: text },
  }),
  answers: [
    { status: 200, means: 'The calls, newest first.', contentType: 'text/csv' },
    ...[
      [400, 'A parameter cannot be read.'] as const,
      [401, 'No valid access token.'] as const,
      [403, 'Not an admin.'] as const,
      [404, 'No such company.'] as const,
      [429, 'Too many requests, or exports of the company.'] as const,
      [503, 'Too many exports are running.'] as const,
    ].map(([status, means]) => ({ status, means, contentType: 'application/json' })),
  ],
};

/** The REST routes of the backend, besides the console's own pages, assets and sessions. */
export const BACKEND_ROUTES: readonly DescribedRoute[] = [
  ...health,
  webhook,
  graphql,
  callExport,
  ...operations,
];

const TITLE = 'Turnpike backend';

export function backendDocument(): Record<string, unknown> {
  return openApiDocument({
    title: TITLE,
    description: 'Health, payment webhook, operations and GraphQL of the platform.',
    token: 'The internal token: the INTERNAL_TOKEN setting, or internal_token in demo.json.',
    routes: BACKEND_ROUTES,
  });
}

export function addApiDocs(app: ServiceApp, files: DocsFiles): void {
  const docs = createDocs({ title: TITLE, document: backendDocument(), files });
  for (const path of DOCS_PATHS) app.get(path, (context) => docs(path) ?? context.notFound());
}
