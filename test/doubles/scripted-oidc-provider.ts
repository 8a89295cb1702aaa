import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Clock } from '../../src/ports/clock.ts';
import type { OidcTransport } from '../../src/ports/oidc-transport.ts';

export const ISSUER = 'https://login.example';
export const CLIENT_ID = 'turnpike-console';
export const CLIENT_SECRET = 'the secret of the console';

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: object;
}

/** What a test changes about the next answers of the provider. */
interface Script {
  claims: JWTPayload;
  /** In the place of a signed ID token. */
  idToken: ((claims: JWTPayload) => Promise<string> | string) | null;
  metadata: Record<string, unknown>;
}

/** An OpenID provider that holds to the standard, except where a test tells it otherwise. */
export async function createScriptedProvider(clock: Clock) {
  const keys: Key[] = [await makeKey('k1')];
  const codes = new Map<string, { nonce: string; challenge: string; redirectUri: string }>();
  const script: Script = { claims: {}, idToken: null, metadata: {} };
  let jwksReads = 0;

  function claimsFor(nonce: string): JWTPayload {
    const now = Math.floor(clock.now() / 1_000);
    const person = { sub: 'subject-1', email: 'ada@acme.example', email_verified: true };
    return { iss: ISSUER, aud: CLIENT_ID, iat: now, exp: now + 300, nonce, ...person, ...script.claims };
  }

  async function sign(claims: JWTPayload, key = keys.at(-1)): Promise<string> {
    if (key === undefined) throw new Error('the provider has no key');
    return await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(key.privateKey);
  }

  async function tokenAnswer(form: Readonly<Record<string, string>>, authorization: string) {
    const known = codes.get(form.code ?? '');
    codes.delete(form.code ?? '');
    const digest = new Bun.CryptoHasher('sha256').update(form.code_verifier ?? '').digest('base64url');
    const isOurs = authorization === `Basic ${btoa(`${CLIENT_ID}:${encodeURIComponent(CLIENT_SECRET)}`)}`;
    if (
      known === undefined ||
      known.challenge !== digest ||
      known.redirectUri !== form.redirect_uri ||
      !isOurs
    ) {
      return { status: 400, body: { error: 'invalid_grant' } };
    }
    const claims = claimsFor(known.nonce);
    const idToken = script.idToken === null ? await sign(claims) : await script.idToken(claims);
    return { status: 200, body: { id_token: idToken, access_token: 'at', token_type: 'Bearer' } };
  }

  const transport: OidcTransport = {
    async getJson(url) {
      if (url === `${ISSUER}/.well-known/openid-configuration`) {
        return {
          ...{
            issuer: ISSUER,
            authorization_endpoint: `${ISSUER}/authorize`,
            token_endpoint: `${ISSUER}/token`,
          },
          ...{ jwks_uri: `${ISSUER}/keys`, ...script.metadata },
        };
      }
      jwksReads += 1;
      return { keys: keys.map(({ jwk }) => jwk) };
    },
    postForm: async (_url, form, headers) => await tokenAnswer(form, headers.authorization ?? ''),
  };

  return {
    transport,
    script,
    sign,
    jwksReads: () => jwksReads,
    async rotate() {
      keys.splice(0, keys.length, await makeKey(`k${jwksReads + 2}`));
    },
    /** The person agrees at the authorization endpoint: the code that the browser brings back. */
    authorize(location: string): { readonly code: string; readonly state: string } {
      const { searchParams } = new URL(location);
      const read = (name: string) => searchParams.get(name) ?? '';
      if (read('code_challenge_method') !== 'S256' || read('response_type') !== 'code')
        throw new Error('no PKCE');
      const code = `code-${codes.size}-${read('state').slice(0, 8)}`;
      const redirectUri = read('redirect_uri');
      codes.set(code, { nonce: read('nonce'), challenge: read('code_challenge'), redirectUri });
      return { code, state: read('state') };
    },
  };
}

async function makeKey(kid: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
}
