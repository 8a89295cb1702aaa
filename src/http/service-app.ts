import { Hono } from 'hono';
import type { Clock } from '../ports/clock.ts';
import { isDatabaseUnavailable } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import { envelopeResponse, errorEnvelope } from './error-envelope.ts';
import type { Connection } from './listen.ts';
import { isDeclaredTooLarge } from './read-body.ts';
import { createRequestIds, REQUEST_ID_HEADER } from './request-id.ts';

export interface ServiceVariables {
  Variables: { requestId: string };
  /** The connection, from `listen`; empty for a request that was created by hand. */
  Bindings: Partial<Connection>;
}

export type ServiceApp = Hono<ServiceVariables>;

export interface ServiceAppParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  /** A request that declares a longer body is refused before any of it is read. */
  readonly maxBodyBytes: number;
  /** How long a handler may take to begin its answer; null if the handler has its own time-out. */
  readonly answerTimeoutMs: number | null;
}

/**
 * Security headers of responses without their own: not a page, not framed, no content sniffing. Pages set their own.
 */
const FOR_BROWSERS = [
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
] as const;

/**
 * The base of every service: a request id on every response, a body limit, a handler of uncaught errors that logs the details
 * and hides them from the client, and 404 in the error envelope. `addGuards` adds the checks that refuse unauthenticated
 * requests before any other limit shows.
 */
export function createServiceApp(
  parts: ServiceAppParts,
  addGuards: (app: ServiceApp) => void = () => {},
): ServiceApp {
  const { clock, log, secrets, maxBodyBytes, answerTimeoutMs } = parts;
  const app: ServiceApp = new Hono<ServiceVariables>();
  const requestIdOf = createRequestIds(secrets);

  // Wraps everything, including the 404 and the error handler, because a handler may return any Response.
  app.use(async (context, next) => {
    const requestId = requestIdOf(context.req.raw);
    context.set('requestId', requestId);
    await next();
    const { headers } = context.res;
    headers.set(REQUEST_ID_HEADER, requestId);
    for (const [name, value] of FOR_BROWSERS) if (!headers.has(name)) headers.set(name, value);
  });
  addGuards(app);
  app.use(async (context, next) => {
    if (isDeclaredTooLarge(context.req.raw, maxBodyBytes)) return tooLarge(maxBodyBytes);
    if (answerTimeoutMs === null) return await next();
    const late = Promise.withResolvers<'late'>();
    const timer = clock.after(answerTimeoutMs, () => late.resolve('late'));
    const first = await Promise.race([next(), late.promise]).finally(() => timer.cancel());
    if (first !== 'late') return;
    const { path } = context.req;
    log.warn('no answer in time', { requestId: context.get('requestId'), path, answerTimeoutMs });
    const message = `There was no answer within ${answerTimeoutMs} ms. Try again later.`;
    return envelopeResponse(503, errorEnvelope('api_error', message));
  });
  app.notFound((context) => {
    const message = `There is no ${context.req.method} ${context.req.path} here.`;
    return envelopeResponse(404, errorEnvelope('not_found_error', message));
  });
  app.onError((error, context) => {
    const requestId = context.get('requestId');
    if (error.name === 'AbortError' && context.req.raw.signal.aborted) {
      log.debug('the client closed the connection', { requestId, path: context.req.path });
      return new Response(null, { status: CLIENT_CLOSED_REQUEST });
    }
    log.error('a request failed', { requestId, method: context.req.method, path: context.req.path, error });
    const isUnavailable = isDatabaseUnavailable(error);
    const what = isUnavailable ? UNAVAILABLE : 'Something went wrong on our side.';
    const message = `${what} Quote the request id ${requestId} when you report it.`;
    return envelopeResponse(isUnavailable ? 503 : 500, errorEnvelope('api_error', message));
  });
  return app;
}

/** nginx's status for requests that no one waits for any more, such as those of a page that was left. */
const CLIENT_CLOSED_REQUEST = 499;
const UNAVAILABLE = 'The database is unavailable right now. Try again shortly.';

/** Does not wait for the rest of the body: the connection closes with this answer. */
function tooLarge(maxBodyBytes: number): Response {
  const message = `The body is larger than ${maxBodyBytes} bytes.`;
  return envelopeResponse(413, errorEnvelope('invalid_request_error', message), { connection: 'close' });
}
