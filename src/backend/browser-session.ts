import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { readBody } from '../http/read-body.ts';
import { readJson } from '../http/read-json.ts';
import { REQUEST_ID_HEADER } from '../http/request-id.ts';
import type { ServiceApp, ServiceVariables } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';

interface BrowserSessionParts {
  readonly consoleUrl: string;
  readonly clock: Clock;
}

const PATH = '/session';
/** The longest that the cookie lives. The server may end the session earlier. */
const MAX_AGE_SECONDS = 90 * 24 * 60 * 60;
const JSON_BODY = /^application\/json(?:\s*;.*)?$/i;
const BODY_BOUNDS = { maxBytes: 20_000, timeoutMs: 15_000 };

/**
 * The mutations that start, refresh or end a session, by the path that runs them. The request body holds the variables.
 */
const WAYS = new Map([
  [
    'login',
    mutation(
      '$email: String!, $password: String!, $totp: String',
      'login(email: $email, password: $password, totp: $totp)',
    ),
  ],
  ['sign-up', mutation('$input: SignUpInput!', 'signUp(input: $input)')],
  [
    'accept-invitation',
    mutation('$token: String!, $password: String!', 'acceptInvitation(token: $token, password: $password)'),
  ],
  [
    'reset-password',
    mutation(
      '$token: String!, $password: String!, $totp: String',
      'resetPassword(token: $token, password: $password, totp: $totp)',
    ),
  ],
  [
    'change-password',
    mutation(
      '$currentPassword: String!, $newPassword: String!',
      'changePassword(currentPassword: $currentPassword, newPassword: $newPassword)',
    ),
  ],
]);
const REFRESH = mutation('$refreshToken: String!', 'refreshSession(refreshToken: $refreshToken)');
const LOG_OUT = 'mutation($refreshToken: String!) { logout(refreshToken: $refreshToken) }';

interface SessionAnswer {
  readonly data?: { session: { accessToken: string; expiresAt: string; refreshToken: string } | null } | null;
  readonly errors?: readonly { extensions?: { code?: string } }[];
}

/**
 * Sessions of the console. They run the same mutations as any other client's, except that no script ever sees the
 * refresh token: it is in a cookie that is sent only to these paths, from pages of the same origin, and is removed from
 * the answer. Without a session the answer is null, not an error.
 */
export function addBrowserSession(app: ServiceApp, { consoleUrl, clock }: BrowserSessionParts): void {
  const { cookieName, cookie } = sessionCookie(consoleUrl);

  const ask = async (context: Context<ServiceVariables>, query: string, variables: unknown) => {
    const request = context.req.raw;
    const headers = new Headers(request.headers);
    for (const name of ['cookie', 'content-length', 'content-encoding']) headers.delete(name);
    headers.set('content-type', 'application/json');
    headers.set('accept', 'application/json');
    headers.set(REQUEST_ID_HEADER, context.get('requestId'));
    const body = JSON.stringify({ query, variables });
    const forwarded = new Request(new URL('/graphql', request.url), { method: 'POST', headers, body });
    const answer = await app.fetch(forwarded, context.env);
    return (await answer.json()) as SessionAnswer;
  };
  const keep = (context: Context<ServiceVariables>, answer: SessionAnswer) => {
    const session = answer.data?.session;
    if (session === undefined || session === null) return context.json(answer);
    const { refreshToken, ...shown } = session;
    setCookie(context, cookieName, refreshToken, cookie);
    return context.json({ data: { session: shown } });
  };

  app.post(`${PATH}/:way`, async (context) => {
    context.header('cache-control', 'no-store');
    if (!isFromOwnPage(context.req.raw, consoleUrl)) {
      return refused(context, 'Only the console’s own pages may ask for a session, with JSON.');
    }
    const way = context.req.param('way');
    const refreshToken = getCookie(context, cookieName);
    if (way === 'logout') {
      if (refreshToken !== undefined) await ask(context, LOG_OUT, { refreshToken });
      deleteCookie(context, cookieName, cookie);
      return context.json({ data: { session: null } });
    }
    if (way === 'refresh') {
      if (refreshToken === undefined) return context.json({ data: { session: null } });
      const answer = await ask(context, REFRESH, { refreshToken });
      const isOver = answer.errors?.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED') === true;
      if (!isOver) return keep(context, answer);
      deleteCookie(context, cookieName, cookie);
      return context.json({ data: { session: null } });
    }
    const query = WAYS.get(way);
    if (query === undefined) return context.notFound();
    const body = await readBody(context.req.raw, { ...BODY_BOUNDS, clock });
    const variables = body.outcome === 'read' ? readVariables(body.bytes) : null;
    if (variables === null) return refused(context, 'The body must be a small JSON object.');
    return keep(context, await ask(context, query, variables));
  });
}

/**
 * Over https, browsers accept a cookie with this prefix only from this exact host over TLS, so no other host of the
 * domain can set one. Over plain http (loopback only) they would reject the prefix.
 */
export function sessionCookie(consoleUrl: string) {
  const secure = consoleUrl.startsWith('https:');
  const options = { httpOnly: true, sameSite: 'Strict', maxAge: MAX_AGE_SECONDS } as const;
  if (!secure) return { cookieName: 'turnpike_refresh', cookie: { ...options, path: PATH, secure } };
  return { cookieName: '__Host-turnpike_refresh', cookie: { ...options, path: '/', secure } };
}

/** Rejects forms and pages of other origins: they send neither this content type nor this origin. */
function isFromOwnPage(request: Request, consoleUrl: string): boolean {
  const { headers } = request;
  if (!JSON_BODY.test(headers.get('content-type') ?? '')) return false;
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin') return false;
  const origin = headers.get('origin');
  if (origin === null) return site === 'same-origin';
  return origin === new URL(consoleUrl).origin || URL.parse(origin)?.host === headers.get('host');
}

function readVariables(bytes: Uint8Array): object | null {
  const read = readJson(bytes);
  if (read.outcome !== 'read') return null;
  return typeof read.value === 'object' && !Array.isArray(read.value) ? read.value : null;
}

function refused(context: Context<ServiceVariables>, message: string): Response {
  return context.json({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] }, 400);
}

function mutation(variables: string, field: string): string {
  return `mutation(${variables}) { session: ${field} { accessToken expiresAt refreshToken } }`;
}
