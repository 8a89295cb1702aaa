import { type ExecutionResult, GraphQLError, type GraphQLSchema, parse, type ValidationRule } from 'graphql';
import { createLRUCache, createYoga, type Plugin } from 'graphql-yoga';
import type { Context } from 'hono';
import { bearerToken, type ClientAddress } from '../../http/client-identity.ts';
import { readBody } from '../../http/read-body.ts';
import type { ServiceApp, ServiceVariables } from '../../http/service-app.ts';
import { badInput } from './errors.ts';
import { QUERY_LIMITS, queryLimitRules } from './query-limits.ts';
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

/** A parsed query is kept by its text, so both are bounded: 500 texts of 20,000 characters are 20 MB at most. */
export const LONGEST_QUERY = 20_000;
const CACHED_QUERIES = 500;

interface GraphqlServer {
  /** `request` is a GET or POST whose body is whole and in its bounds. */
  answer(request: Request, context: RequestContext): Promise<Response>;
}

function createGraphqlServer(schema: GraphQLSchema): GraphqlServer {
  const yoga = createYoga<RequestContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // Its page is fetched from the internet, and a page of ours shows nothing of others.
    graphiql: false,
    landingPage: false,
    // The endpoint answers for these itself.
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: CACHED_QUERIES }),
      errorCache: createLRUCache({ max: CACHED_QUERIES }),
    },
    // What an error becomes is decided below, where the request is known.
    maskedErrors: { maskError: asGraphqlError },
    plugins: [boundedQueries, shownResults],
  });
  return { answer: async (request, context) => await yoga.fetch(request, context) };
}

/** Over HTTP nobody would look again whether a watcher still has the right to watch. */
const noSubscriptions: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    if (operation.operation !== 'subscription') return;
    const message = 'Subscriptions come over a WebSocket at this address, by graphql-transport-ws.';
    context.reportError(new GraphQLError(message, { nodes: operation }));
  },
});

const boundedQueries: Plugin = {
  onParams({ params }) {
    if (typeof params.query === 'string' && params.query.length > LONGEST_QUERY) {
      throw badInput('query', `it has more than ${LONGEST_QUERY} characters`);
    }
  },
  onParse({ setParseFn }) {
    setParseFn((source, options) => parse(source, { ...options, maxTokens: QUERY_LIMITS.tokens }));
  },
  onValidate({ addValidationRule }) {
    for (const rule of [...queryLimitRules, noSubscriptions]) addValidationRule(rule);
  },
};

const shownResults: Plugin<object, RequestContext> = {
  onExecutionResult({ result, setResult, context }) {
    if (result === undefined || Array.isArray(result)) return;
    if (!(Symbol.asyncIterator in result)) setResult(showableResult(context, result));
    else setResult(eachShown(context, result as AsyncIterable<ExecutionResult>));
  },
};

async function* eachShown(
  context: RequestContext,
  results: AsyncIterable<ExecutionResult>,
): AsyncIterable<ExecutionResult> {
  for await (const result of results) yield showableResult(context, result);
}

/** Keeps what was behind it, which never leaves the process: only `message`, `path` and `extensions` are written. */
function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const originalError = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError('Something went wrong on our side.', { originalError });
}

const LONGEST_MESSAGE = 500;

/**
 * What becomes of an error on its way out. A foreseen one has a code and passes. One of the request itself (a
 * variable of the wrong type) has no path and gets BAD_USER_INPUT. All others are faults of ours: the log is told
 * everything, the client the request id. Fails closed: what is not surely meant for the client is not shown.
 */
function showableError(context: RequestContext, error: GraphQLError): GraphQLError {
  const isForeseen = typeof error.extensions.code === 'string' && !isFault(error);
  if (isForeseen && error.message.length <= LONGEST_MESSAGE) return error;
  const place = {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
  };
  if (isForeseen || (error.path === undefined && !isFault(error))) {
    const message = error.message.slice(0, LONGEST_MESSAGE);
    return new GraphQLError(message, {
      ...place,
      extensions: { code: 'BAD_USER_INPUT', ...error.extensions },
    });
  }
  const { requestId } = context;
  context.log.error('an operation failed', { path: error.path?.join('.'), error: rootOf(error) });
  const message = `Something went wrong on our side. Quote the request id ${requestId} when you report it.`;
  return new GraphQLError(message, { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR', requestId } });
}

export function showableResult(context: RequestContext, result: ExecutionResult): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => showableError(context, error)) };
}

/** Whether something else than a GraphQLError stands behind it. */
function isFault(error: GraphQLError): boolean {
  return !(rootOf(error) instanceof GraphQLError);
}

function rootOf(error: GraphQLError): Error {
  let root: Error = error;
  while (root instanceof GraphQLError && root.originalError instanceof Error) root = root.originalError;
  return root;
}
