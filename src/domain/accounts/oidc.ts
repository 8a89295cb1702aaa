import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../ports/clock.ts';
import type { OidcTransport } from '../../ports/oidc-transport.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { isEmail } from './email.ts';
import { generateOneTimeToken } from './tokens.ts';

/**
 * Sign-in by an OpenID provider: the authorization code flow with PKCE, state and nonce. Their values are in a cookie
 * of the browser; a response that does not belong to this browser and sign-in is refused. oidc-accounts.ts decides
 * which account an identity belongs to.
 */
interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which PKCE protects. */
  readonly clientSecret: string | null;
  readonly redirectUri: string;
  /** The claim with a user's roles or groups. */
  readonly roleClaim: string | null;
}

interface OidcParts {
  readonly settings: OidcSettings;
  readonly transport: OidcTransport;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

/** The query of the redirect, and the cookie of the sign-in. */
interface OidcAnswer {
  readonly query: Readonly<Record<string, string>>;
  readonly cookie: string | null;
}

export interface OidcIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Verified by the provider. */
  readonly email: string;
  readonly roles: readonly string[];
}

type FinishedSignIn =
  | { readonly outcome: 'identified'; readonly identity: OidcIdentity }
  /** `reason` is for the log. */
  | { readonly outcome: 'refused'; readonly code: 'failed' | 'unverified'; readonly reason: string };

export interface Oidc {
  /** The redirect of the browser, and the cookie to set. */
  begin(): Promise<{ readonly location: string; readonly cookie: string }>;
  finish(answer: OidcAnswer): Promise<FinishedSignIn>;
}

/** Only signatures with the provider's own key: neither `none` nor anything that our client secret could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const SIGN_IN_MS = 10 * 60_000;
const CLOCK_SKEW_SECONDS = 60;
const METADATA_MS = 60 * 60_000;
const KEYS_MS = 10 * 60_000;
/** A token with an unknown key makes us fetch the keys again, at most this often. */
const KEYS_AGAIN_MS = 60_000;
const LONGEST_ID_TOKEN = 32_768;
const LONGEST_CODE = 4_096;
const MOST_ROLES = 200;
const PENDING = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})\.(\d{13})$/;

const metadataShape = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
type Metadata = z.output<typeof metadataShape>;

const keysShape = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });
const tokensShape = z.object({ id_token: z.string().max(LONGEST_ID_TOKEN) });

/** A refusal, with its reason for the log. */
class Refused extends Error {
  readonly code: 'failed' | 'unverified';
  constructor(reason: string, code: 'failed' | 'unverified' = 'failed') {
    super(reason);
    this.code = code;
  }
}

export function createOidc({ settings, transport, clock, secrets }: OidcParts): Oidc {
  const { clientId, clientSecret, redirectUri } = settings;
  const metadata = cachedFor(clock, METADATA_MS, () => readMetadata(settings.issuer, transport));
  const keys = cachedFor(clock, KEYS_MS, async () => {
    const read = keysShape.parse(await transport.getJson((await metadata.get()).jwks_uri));
    return createLocalJWKSet(read as unknown as JSONWebKeySet);
  });

  async function exchange(provider: Metadata, code: string, verifier: string): Promise<string> {
    const methods = provider.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = clientSecret !== null && methods.includes('client_secret_basic');
    const form = {
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
      ...(isBasic ? {} : { client_id: clientId }),
      ...(clientSecret === null || isBasic ? {} : { client_secret: clientSecret }),
    };
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`;
    const headers: Record<string, string> = isBasic ? { authorization: `Basic ${btoa(pair)}` } : {};
    const { status, body } = await transport.postForm(provider.token_endpoint, form, headers);
    const tokens = tokensShape.safeParse(body);
    if (status !== 200 || !tokens.success) throw new Refused(`the token endpoint answered ${status}`);
    return tokens.data.id_token;
  }

  async function verify(provider: Metadata, idToken: string, nonce: string): Promise<JWTPayload> {
    const check = async () => {
      const { payload } = await jwtVerify(idToken, await keys.get(), {
        ...{ issuer: provider.issuer, audience: clientId, algorithms: ALGORITHMS },
        ...{ clockTolerance: CLOCK_SKEW_SECONDS, maxTokenAge: SIGN_IN_MS / 1_000 },
        ...{ requiredClaims: ['sub', 'iat', 'exp', 'nonce'], currentDate: new Date(clock.now()) },
      });
      return payload;
    };
    const payload = await check().catch(async (error: unknown) => {
      // The provider may have rotated its keys since we fetched them.
      if (!(error instanceof errors.JWKSNoMatchingKey) || !keys.forget(KEYS_AGAIN_MS)) throw error;
      return await check();
    });
    if (payload.nonce !== nonce) throw new Refused('the ID token belongs to another sign-in');
    const isForSeveral = Array.isArray(payload.aud) && payload.aud.length > 1;
    if ((isForSeveral || payload.azp !== undefined) && payload.azp !== clientId) {
      throw new Refused('the ID token was issued to another client');
    }
    return payload;
  }

  function identityOf({ issuer }: Metadata, payload: JWTPayload): OidcIdentity {
    const { sub, email, email_verified: isVerified } = payload;
    if (typeof sub !== 'string' || sub === '' || sub.length > 255)
      throw new Refused('the subject is unusable');
    if (typeof email !== 'string' || !isEmail(email))
      throw new Refused('there is no e-mail address', 'unverified');
    if (isVerified !== true) throw new Refused('the e-mail address is not verified', 'unverified');
    return { issuer, subject: sub, email: email.trim(), roles: rolesIn(payload, settings.roleClaim) };
  }

  async function finishOrThrow({ query, cookie }: OidcAnswer): Promise<OidcIdentity> {
    const [, state, nonce, verifier, startedAt] = PENDING.exec(cookie ?? '') ?? [];
    if (state === undefined || nonce === undefined || verifier === undefined) {
      throw new Refused('this browser has begun no sign-in');
    }
    const ageMs = clock.now() - Number(startedAt);
    if (ageMs < 0 || ageMs > SIGN_IN_MS) throw new Refused('the sign-in took too long');
    if (query.state !== state) throw new Refused('the answer belongs to another sign-in');
    const provider = await metadata.get();
    // RFC 9207: a response of another provider has another `iss`, or none if ours always sends one.
    const isIssRequired = provider.authorization_response_iss_parameter_supported === true;
    if ((query.iss !== undefined || isIssRequired) && query.iss !== provider.issuer) {
      throw new Refused('the answer comes from another provider');
    }
    if (query.error !== undefined) throw new Refused(`the provider refused: ${query.error.slice(0, 100)}`);
    const { code } = query;
    if (code === undefined || code === '' || code.length > LONGEST_CODE)
      throw new Refused('there is no code');
    const idToken = await exchange(provider, code, verifier);
    return identityOf(provider, await verify(provider, idToken, nonce));
  }

  return {
    async begin() {
      const provider = await metadata.get();
      const [state, nonce, verifier] = [1, 2, 3].map(() => generateOneTimeToken(secrets)) as [
        string,
        string,
        string,
      ];
      const location = new URL(provider.authorization_endpoint);
      const challenge = secrets.sha256(verifier).toBase64({ alphabet: 'base64url', omitPadding: true });
      for (const [name, value] of Object.entries({
        ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'openid email' },
        ...{ state, nonce, code_challenge: challenge, code_challenge_method: 'S256' },
      })) {
        location.searchParams.set(name, value);
      }
      return { location: location.href, cookie: `${state}.${nonce}.${verifier}.${clock.now()}` };
    },
    async finish(answer) {
      try {
        return { outcome: 'identified', identity: await finishOrThrow(answer) };
      } catch (error) {
        if (error instanceof Refused) return { outcome: 'refused', code: error.code, reason: error.message };
        const reason = error instanceof Error ? error.message : 'unknown';
        return { outcome: 'refused', code: 'failed', reason: reason.slice(0, 300) };
      }
    },
  };
}

async function readMetadata(issuer: string, transport: OidcTransport): Promise<Metadata> {
  const base = issuer.replace(/\/$/, '');
  const read = metadataShape.parse(await transport.getJson(`${base}/.well-known/openid-configuration`));
  // Some issuers end with a slash, which the settings remove; everything else is compared exactly.
  if (read.issuer.replace(/\/$/, '') !== base) throw new Error('the discovery document is of another issuer');
  const isPlain = base.startsWith('http:');
  for (const url of [read.authorization_endpoint, read.token_endpoint, read.jwks_uri]) {
    const { protocol } = new URL(url);
    if (protocol !== 'https:' && !(isPlain && protocol === 'http:')) {
      throw new Error('the discovery document names an address without TLS');
    }
  }
  return read;
}

/** Strings only: a claim of another type gives no role. */
function rolesIn(payload: JWTPayload, claim: string | null): readonly string[] {
  const value = claim !== null && Object.hasOwn(payload, claim) ? payload[claim] : [];
  const values = Array.isArray(value) ? value : [value];
  return values.filter((one) => typeof one === 'string').slice(0, MOST_ROLES);
}

interface Cached<Value> {
  get(): Promise<Value>;
  /** False if it was fetched so recently that fetching it again would be pointless. */
  forget(leastAgeMs: number): boolean;
}

/** Fetched once for concurrent callers. A failure is not cached. */
function cachedFor<Value>(clock: Clock, freshMs: number, read: () => Promise<Value>): Cached<Value> {
  let stored: { readonly value: Promise<Value>; readonly atMs: number } | null = null;
  return {
    get() {
      const ageMs = stored === null ? freshMs : clock.now() - stored.atMs;
      if (stored !== null && ageMs >= 0 && ageMs < freshMs) return stored.value;
      const value = read();
      const own = { value, atMs: clock.now() };
      stored = own;
      value.catch(() => {
        if (stored === own) stored = null;
      });
      return value;
    },
    forget(leastAgeMs) {
      if (stored !== null && clock.now() - stored.atMs < leastAgeMs) return false;
      stored = null;
      return true;
    },
  };
}
