import type { GraphQLSchema } from 'graphql';
import type { Context } from 'hono';
import { bearerToken } from '../../http/bearer-token.ts';
import type { ClientAddress } from '../../http/client-address.ts';
import { readBody } from '../../http/read-body.ts';
import type { ServiceApp, ServiceVariables } from '../../http/service-app.ts';
import { createGraphqlServer } from './graphql-server.ts';
import { createRequestContext, type GraphqlParts, type RequestContext } from './request-context.ts';

export interface EndpointParts extends GraphqlParts {
  readonly clientAddress: ClientAddress;
  readonly maxBodyBytes: number;
  /** The one origin whose pages may call from a browser, where the console is not served by this very server. */
  readonly consoleOrigin: string | null;
}

const PATH = '/graphql';
const BODY_TIMEOUT_MS = 30_000;
/** A form or a plain text is sent across origins without asking first; JSON is not. */
const JSON_BODY = /^application\/json(?:\s*;.*)?$/i;

/** P-4: GraphQL over HTTP. */
export function addGraphql(app: ServiceApp, schema: GraphQLSchema, parts: EndpointParts): void {
  const server = createGraphqlServer(schema);
  const { clock, maxBodyBytes, consoleOrigin } = parts;

  app.use(PATH, async (context, next) => {
    await next();
    context.header('cache-control', 'no-store');
    if (consoleOrigin === null || context.req.header('origin') !== consoleOrigin) return;
    context.header('access-control-allow-origin', consoleOrigin);
    context.header('access-control-expose-headers', 'x-request-id');
    context.header('vary', 'origin', { append: true });
  });
  app.options(PATH, (context) => {
    if (consoleOrigin !== null && context.req.header('origin') === consoleOrigin) {
      context.header('access-control-allow-methods', 'GET, POST');
      context.header('access-control-allow-headers', 'authorization, content-type, x-request-id');
      context.header('access-control-max-age', '600');
    }
    return context.body(null, 204);
  });
  app.get(PATH, (context) => server.answer(context.req.raw, contextOf(context, parts)));
  app.post(PATH, async (context) => {
    const request = context.req.raw;
    if (!JSON_BODY.test(request.headers.get('content-type') ?? '')) {
      return refused(415, 'Send the query as JSON, with "Content-Type: application/json".');
    }
    const body = await readBody(request, { maxBytes: maxBodyBytes, timeoutMs: BODY_TIMEOUT_MS, clock });
    switch (body.outcome) {
      case 'too-large':
        return refused(413, `The body is larger than ${maxBodyBytes} bytes.`);
      case 'too-slow':
        return refused(408, `The body did not arrive within ${BODY_TIMEOUT_MS} ms.`);
      case 'broken':
        return refused(400, 'The body broke off.');
      case 'read': {
        const whole = new Request(request.url, {
          method: 'POST',
          headers: request.headers,
          body: body.bytes,
          signal: request.signal,
        });
        return await server.answer(whole, contextOf(context, parts));
      }
    }
  });
  app.all(PATH, () => refused(405, 'GraphQL is asked with POST, or with GET.', { allow: 'GET, POST' }));
}

function contextOf(context: Context<ServiceVariables>, parts: EndpointParts): RequestContext {
  const request = context.req.raw;
  return createRequestContext(parts, {
    requestId: context.get('requestId'),
    clientAddress: parts.clientAddress(request, context.env?.peerAddress ?? ''),
    userAgent: (request.headers.get('user-agent') ?? '').replaceAll(/\p{C}/gu, ''),
    token: bearerToken(request),
  });
}

function refused(status: number, message: string, headers: Record<string, string> = {}): Response {
  const errors = [{ message, extensions: { code: 'BAD_USER_INPUT' } }];
  return Response.json({ errors }, { status, headers });
}
