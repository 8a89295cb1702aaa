import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Attempts } from '../domain/accounts/attempt-limits.ts';
import type { Oidc, OidcIdentity } from '../domain/accounts/oidc.ts';
import { type OidcRefusal, type OidcRules, signInIdentity } from '../domain/accounts/oidc-accounts.ts';
import { type SessionTokens, startSession } from '../domain/accounts/sessions.ts';
import { type AccessTokens, generateOneTimeToken } from '../domain/accounts/tokens.ts';
import { appendAuditEntry } from '../domain/audit/audit-log.ts';
import type { ClientAddress } from '../http/client-identity.ts';
import type { ServiceApp, ServiceVariables } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import { sessionCookie } from './browser-session.ts';

const OIDC_PATH = '/session/oidc';
export const OIDC_CALLBACK_PATH = `${OIDC_PATH}/callback`;

export interface OidcSessionParts {
  readonly oidc: Oidc;
  readonly rules: OidcRules;
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly accessTokens: AccessTokens;
  readonly attempts: Attempts;
  readonly clientAddress: ClientAddress;
  readonly consoleUrl: string;
}

const SIGN_IN_SECONDS = 600;

/**
 * Signs users of the console in by an OpenID provider. The browser opens both routes itself. They redirect to the
 * provider's authorization endpoint or to the console, never to an address taken from the request.
 */
export function addOidcSession(app: ServiceApp, parts: OidcSessionParts): void {
  const { oidc, log, attempts, clientAddress, consoleUrl } = parts;
  const secure = consoleUrl.startsWith('https:');
  const name = secure ? '__Host-turnpike_sign_in' : 'turnpike_sign_in';
  // Lax: the browser returns from the provider's site. The cookie is valid for one sign-in, within ten minutes.
  const options = { path: '/', httpOnly: true, sameSite: 'Lax', secure, maxAge: SIGN_IN_SECONDS } as const;
  const session = sessionCookie(consoleUrl);
  const home = `${consoleUrl.replace(/\/+$/, '')}/`;

  const addressOf = (context: Context<ServiceVariables>) =>
    clientAddress(context.req.raw, context.env.peerAddress ?? '');
  const back = (context: Context<ServiceVariables>, code: string) => {
    context.header('cache-control', 'no-store');
    return context.redirect(code === '' ? home : `${home}?sign-in=${code}`, 303);
  };

  // Not rate limited: it only draws random bytes.
  app.get(OIDC_PATH, async (context) => {
    try {
      const { location, cookie } = await oidc.begin();
      setCookie(context, name, cookie, options);
      context.header('cache-control', 'no-store');
      return context.redirect(location, 302);
    } catch (error) {
      log.error('the identity provider cannot be used', { error });
      return back(context, 'failed');
    }
  });

  app.get(OIDC_CALLBACK_PATH, async (context) => {
    const requestId = context.get('requestId');
    const counted = await attempts.count('log-in', addressOf(context));
    if (counted.outcome === 'refused') return back(context, 'busy');
    const cookie = getCookie(context, name) ?? null;
    // Valid once: a second use is refused.
    deleteCookie(context, name, options);
    const finished = await oidc.finish({ query: context.req.query(), cookie });
    if (finished.outcome === 'refused') {
      const { code, reason } = finished;
      log.warn('a sign-in by OIDC was refused', { requestId, clientAddress: addressOf(context), reason });
      return back(context, code);
    }
    const origin = {
      ...{ requestId, clientAddress: addressOf(context) },
      userAgent: context.req.header('user-agent') ?? '',
    };
    const signedIn = await signIn(parts, finished.identity, origin);
    if (typeof signedIn === 'string') {
      log.warn('a sign-in by OIDC was refused', {
        requestId,
        clientAddress: origin.clientAddress,
        reason: signedIn,
      });
      return back(context, signedIn);
    }
    setCookie(context, session.cookieName, signedIn.refreshToken, session.cookie);
    return back(context, '');
  });
}

interface Origin {
  readonly requestId: string;
  readonly clientAddress: string;
  readonly userAgent: string;
}

/** Commits the account, its changes, the session and their audit entries together. */
async function signIn(
  parts: OidcSessionParts,
  identity: OidcIdentity,
  { requestId, clientAddress, userAgent }: Origin,
): Promise<SessionTokens | OidcRefusal> {
  const { database, secrets, clock, rules } = parts;
  const passwordHash = await secrets.hashPassword(generateOneTimeToken(secrets));
  return await database.transaction(async (transaction) => {
    const found = await signInIdentity(parts, transaction, { identity, rules, passwordHash });
    if (found.outcome === 'refused') return found.code;
    const { id: actorId, email: actorEmail, companyId } = found.user;
    const { sessionId, ...tokens } = await startSession(parts, transaction, found.user, {
      clientAddress,
      userAgent,
    });
    const own = {
      happenedAt: new Date(clock.now()),
      companyId,
      actorId,
      actorEmail,
      clientAddress,
      requestId,
    };
    for (const { action, details } of found.events) {
      await appendAuditEntry(transaction, { ...own, action, details, objectKind: 'user', objectId: actorId });
    }
    const session = { action: 'session.started', objectKind: 'session', objectId: sessionId };
    await appendAuditEntry(transaction, { ...own, ...session, details: { by: 'oidc' } });
    return tokens;
  });
}
