/** Sign-in by an OpenID provider, in a real browser on a fresh start, with a provider on this machine. */
import { describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBrowserSystem } from './browser-system.ts';

/** Who agrees at the next sign-in. */
let email = '';

async function openProvider() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' };
  const nonces = new Map<string, string>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, searchParams, origin: iss } = new URL(request.url);
      if (pathname === '/authorize') {
        const back = new URL(searchParams.get('redirect_uri') ?? '');
        const code = crypto.randomUUID();
        nonces.set(code, searchParams.get('nonce') ?? '');
        for (const [name, value] of Object.entries({ code, iss, state: searchParams.get('state') ?? '' })) {
          back.searchParams.set(name, value);
        }
        return Response.redirect(back.href, 302);
      }
      if (pathname === '/token') {
        const form = new URLSearchParams(await request.text());
        const claims = { email, email_verified: true, nonce: nonces.get(form.get('code') ?? '') ?? '' };
        const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k' }).setIssuer(iss);
        const signed = token
          .setAudience('console')
          .setSubject(`sub-${email}`)
          .setIssuedAt()
          .setExpirationTime('5m');
        return Response.json({ id_token: await signed.sign(privateKey) });
      }
      if (pathname === '/keys') return Response.json({ keys: [jwk] });
      return Response.json({
        ...{ issuer: iss, authorization_endpoint: `${iss}/authorize`, token_endpoint: `${iss}/token` },
        ...{ jwks_uri: `${iss}/keys`, authorization_response_iss_parameter_supported: true },
      });
    },
  });
  return { url: server.url.origin, close: () => server.stop(true) };
}

describe.skipIf(givenChromium() === null)('sign-in by OIDC in a real browser', () => {
  const provider = useResource(openProvider);
  const world = useResource(() =>
    openBrowserSystem(undefined, {
      ...{
        OIDC_ISSUER: provider.url,
        OIDC_CLIENT_ID: 'console',
        OIDC_NAME: 'Example ID',
        SIGN_UP: 'invited',
      },
      OIDC_DOMAINS: 'demo.example=existing',
    }),
  );

  test('the button leads to the provider and back into the console; errors say why; no account is created', async () => {
    // The frame around every page of a signed-in user; at this width its menu is closed.
    const { page } = await world.visit({ width: 390 });
    const frame = page.locator('.frame');
    await page.goto('/');
    expect(await page.getByText('Sign up a company').count()).toBe(0);
    email = 'stranger@elsewhere.example';
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await page.getByText('Addresses of your domain cannot sign in here.').waitFor();
    const other = await page.context().newPage();
    await other.goto('/forgotten-password');
    await other.getByLabel('E-mail').waitFor();
    email = world.demo.company_admin.email;
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await frame.waitFor();
    // A tab that was logged out is logged in as well.
    await other.locator('.frame').waitFor();
    await other.close();
    expect(new URL(page.url()).pathname).toBe('/');
    await page.reload();
    await frame.waitFor();
  });
});
