import { type ExecutionResult, GraphQLError, type GraphQLSchema, Source, type ValidationRule } from 'graphql';
import { createLRUCache, createYoga, type Plugin } from 'graphql-yoga';
import type { Context } from 'hono';
import { isServiceToken } from '../../domain/accounts/service-tokens.ts';
import type { CountedRequest } from '../../domain/limits/request-count.ts';
import { bearerToken, type ClientAddress } from '../../http/client-identity.ts';
import { ACCEPTED_ENCODINGS, readBody, UNKNOWN_ENCODING } from '../../http/read-body.ts';
import { type ReadJson, readJson, TOO_DEEP } from '../../http/read-json.ts';
import type { ServiceApp, ServiceVariables } from '../../http/service-app.ts';
import { type DatabaseFailure, isDatabaseUnavailable } from '../../ports/database.ts';
import { answerTooLarge, createAnswerSize, isTooLarge } from './answer-size.ts';
import { badInput, tooManyRequests } from './errors.ts';
import { withIntrospection } from './introspection.ts';
import { checkQuery, parseQuery, QUERY_LIMITS } from './query-limits.ts';
import { createRequestContext, type GraphqlParts, type RequestContext } from './request-context.ts';

export interface EndpointParts extends GraphqlParts {
  readonly clientAddress: ClientAddress;
  readonly maxBodyBytes: number;
  /** 32 MB by default. */
  readonly maxAnswerBytes?: number;
  /** The one other origin whose pages may call from a browser, if the console is not served by this server. */
  readonly consoleOrigin: string | null;
}

const PATH = '/graphql';
const BODY_TIMEOUT_MS = 30_000;
/** Browsers send forms and plain text across origins without a preflight request; they do not send JSON. */
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
  app.get(PATH, async (context) => {
    const own = contextOf(context, parts);
    return (await refusedByLimit(own)) ?? (await server.answer(context.req.raw, null, own));
  });
  app.post(PATH, async (context) => {
    const request = context.req.raw;
    const own = contextOf(context, parts);
    const limited = await refusedByLimit(own);
    if (limited !== null) return limited;
    if (!JSON_BODY.test(request.headers.get('content-type') ?? '')) {
      return refused(415, 'Send the query as JSON, with "Content-Type: application/json".');
    }
    const body = await readBody(request, { maxBytes: maxBodyBytes, timeoutMs: BODY_TIMEOUT_MS, clock });
    switch (body.outcome) {
      case 'too-large':
        return refused(413, `The body is larger than ${maxBodyBytes} bytes.`, { connection: 'close' });
      case 'too-slow':
        return refused(408, `The body did not arrive within ${BODY_TIMEOUT_MS} ms.`);
      case 'unknown-encoding':
        return refused(415, UNKNOWN_ENCODING, ACCEPTED_ENCODINGS);
      case 'broken':
        return refused(400, body.problem ?? 'The body is incomplete or broken.');
      case 'read': {
        const json = readJson(body.bytes);
        if (json.outcome === 'too-deep') return refused(400, TOO_DEEP);
        return await server.answer(request, json, own);
      }
    }
  });
  app.all(PATH, () => refused(405, 'Send GraphQL requests with POST or GET.', { allow: 'GET, POST' }));
}

/** The sender of a request and its address. */
export function contextOf(context: Context<ServiceVariables>, parts: EndpointParts): RequestContext {
  const request = context.req.raw;
  const own = createRequestContext(parts, {
    requestId: context.get('requestId'),
    clientAddress: parts.clientAddress(request, context.env?.peerAddress ?? ''),
    userAgent: (request.headers.get('user-agent') ?? '').replaceAll(/\p{C}/gu, ''),
    token: bearerToken(request),
  });
  return { ...own, answerSize: createAnswerSize(parts.maxAnswerBytes) };
}

/** Per user when signed in, otherwise per address; null where the request is allowed. */
export async function refusedByLimit(context: RequestContext): Promise<Response | null> {
  const counted = await countedRequest(context);
  if (counted.outcome === 'admitted') return null;
  const { message, extensions } = tooManyRequests(counted.retryAfterMs);
  const headers = { 'retry-after': String(extensions.retryAfterSeconds) };
  return Response.json({ errors: [{ message, extensions }] }, { status: 429, headers });
}

/** For an access token, the user in its claims, without a database query; for a service token, its creator. */
async function countedRequest(context: RequestContext): Promise<CountedRequest> {
  const { parts, token, clientAddress } = context;
  const { requestLimits } = parts;
  if (token === null) return await requestLimits.countRequest(clientAddress, null);
  if (!isServiceToken(token)) {
    const subject = await parts.accessTokens.verify(token);
    return await requestLimits.countRequest(clientAddress, subject?.userId ?? null);
  }
  return await requestLimits.countServiceToken(clientAddress, {
    digest: parts.secrets.sha256(token).toHex(),
    // Counted by address while the database is unavailable; the operation reports the failure.
    creatorId: async () => (await context.viewer().catch(() => null))?.id ?? null,
  });
}

function refused(status: number, message: string, headers: Record<string, string> = {}): Response {
  const errors = [{ message, extensions: { code: 'BAD_USER_INPUT' } }];
  return Response.json({ errors }, { status, headers });
}

/** Parsed queries are cached by their text, which is bounded: 500 of 20,000 characters are at most 20 MB. */
const CACHED_QUERIES = 500;

interface GraphqlServer {
  /** A GET request, or a POST request with its body. */
  answer(request: Request, body: ReadJson | null, context: RequestContext): Promise<Response>;
}

function createGraphqlServer(schema: GraphQLSchema): GraphqlServer {
  const bodies = new WeakMap<Request, ReadJson>();
  const yoga = createYoga<RequestContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // GraphiQL is fetched from the internet; our pages load nothing from other hosts.
    graphiql: false,
    landingPage: false,
    // Handled by the endpoint itself.
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: CACHED_QUERIES }),
      errorCache: createLRUCache({ max: CACHED_QUERIES }),
    },
    // Errors are masked below, where the request is known.
    maskedErrors: { maskError: asGraphqlError },
    plugins: [readBodies(bodies), boundedQueries, shownResults],
  });
  return {
    async answer(request, body, context) {
      if (body === null) return await yoga.fetch(request, context);
      const { url, signal } = request;
      const headers = new Headers(request.headers);
      for (const name of ['content-length', 'content-encoding']) headers.delete(name);
      const withoutBody = new Request(url, { method: 'POST', headers, signal });
      bodies.set(withoutBody, body);
      return await yoga.fetch(withoutBody, context);
    },
  };
}

/** Subscriptions require the WebSocket, which keeps checking whether the subscriber still has access. */
const noSubscriptions: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    if (operation.operation !== 'subscription') return;
    const message = 'Subscriptions are served over WebSocket at this address (graphql-transport-ws).';
    context.reportError(new GraphQLError(message, { nodes: operation }));
  },
});

/** The body was read, within its bounds, before Yoga gets the request. */
function readBodies(bodies: WeakMap<Request, ReadJson>): Plugin {
  return {
    onRequestParse({ request, setRequestParser }) {
      const body = bodies.get(request);
      if (body === undefined) return;
      setRequestParser(() => {
        const value = body.outcome === 'read' ? body.value : null;
        if (typeof value === 'object' && value !== null) return value;
        const message = 'The body must be JSON: an object with "query".';
        throw new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
      });
    },
  };
}

const boundedQueries: Plugin = {
  onParams({ params: { query } }) {
    if (typeof query !== 'string' || query.length <= QUERY_LIMITS.characters) return;
    throw badInput('query', `it has more than ${QUERY_LIMITS.characters} characters`);
  },
  onParse({ setParseFn }) {
    setParseFn((source) => parseQuery(String(source instanceof Source ? source.body : source)));
  },
  onValidate({ setValidationFn }) {
    setValidationFn((schema, document) => checkQuery(schema, document, [noSubscriptions]));
  },
  onExecute({ executeFn, setExecuteFn }) {
    setExecuteFn(withIntrospection(executeFn));
  },
};

const shownResults: Plugin<object, RequestContext> = {
  onExecutionResult({ result, setResult, context }) {
    if (result === undefined || Array.isArray(result)) return;
    if (!(Symbol.asyncIterator in result)) setResult(boundedResult(context, result));
    else setResult(eachShown(context, result as AsyncIterable<ExecutionResult>));
  },
};

/** A response that became too large is a single error, whatever else it contained. */
function boundedResult(context: RequestContext, result: ExecutionResult): ExecutionResult {
  const { answerSize: size } = context;
  const tooLarge = size === undefined ? null : { data: null, errors: [answerTooLarge(size)] };
  if (size === undefined || tooLarge === null) return showableResult(context, result);
  if (isTooLarge(size)) return tooLarge;
  const stringify = (shown: ExecutionResult): string => {
    const text = JSON.stringify(shown);
    return Buffer.byteLength(text) > size.maxBytes ? JSON.stringify(tooLarge) : text;
  };
  return { ...showableResult(context, result), stringify } as ExecutionResult;
}

async function* eachShown(
  context: RequestContext,
  results: AsyncIterable<ExecutionResult>,
): AsyncIterable<ExecutionResult> {
  for await (const result of results) yield showableResult(context, result);
}

/** Keeps the original error, which never leaves the process: only `message`, `path` and `extensions` are sent. */
function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const originalError = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError('Something went wrong on our side.', { originalError });
}

const LONGEST_MESSAGE = 500;

/**
 * Masks errors. An expected one has a code and passes. One of the request itself (a variable of the wrong type) has no
 * path and gets BAD_USER_INPUT. All others are internal: the log gets the details, the client the request id. Fails
 * closed: only messages that are meant for clients are shown.
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
  const what = whatFailed(rootOf(error));
  const message = `${what} Quote the request id ${requestId} when you report it.`;
  return new GraphQLError(message, { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR', requestId } });
}

export function showableResult(context: RequestContext, result: ExecutionResult): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => showableError(context, error)) };
}

/** Whether its cause is anything other than a GraphQLError. */
function isFault(error: GraphQLError): boolean {
  return !(rootOf(error) instanceof GraphQLError);
}

function whatFailed(error: Error): string {
  if (!isDatabaseUnavailable(error)) return 'Something went wrong on our side.';
  // No connection to the database was free, so that the statement did not run.
  if ((error as DatabaseFailure).reason === 'busy')
    return 'The service is busy right now. Try again shortly.';
  return 'The service is unavailable right now. A change may have been made: check it, then try again.';
}

function rootOf(error: GraphQLError): Error {
  let root: Error = error;
  while (root instanceof GraphQLError && root.originalError instanceof Error) root = root.originalError;
  return root;
}
