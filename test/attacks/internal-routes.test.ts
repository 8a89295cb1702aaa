import { expect, test } from 'bun:test';
import { useSystem } from '../setup/use-system.ts';

const running = useSystem();

test('A-6 every internal route of every service refuses anonymous requests, company keys, access tokens and similar tokens alike', async () => {
  const { gateway_url, backend_url, ai_url, full_key, internal_token, company_admin } = running.demo;
  const login = await fetch(`${backend_url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      query:
        'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }',
      variables: company_admin,
    }),
  });
  const { accessToken } = (await login.json()).data.login;
  const wrong = ['', 'x', full_key, accessToken, `${internal_token}x`, internal_token.slice(0, -1)];
  const origins = [new URL(gateway_url).origin, new URL(backend_url).origin];
  const described = await (await fetch(`${ai_url}/openapi.json`)).json();
  const internal = Object.entries<Record<string, { security?: unknown }>>(described.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security }]) =>
        security === undefined
          ? []
          : [[method.toUpperCase(), `${ai_url}${path.replaceAll(/\{\w+\}/g, 'x')}`] as const],
      ),
  );
  expect(internal.length).toBeGreaterThan(5);
  const routes = [...internal, ...origins.map((origin) => ['GET', `${origin}/metrics`] as const)];
  for (const [method, url] of routes) {
    const bodies = new Set<string>();
    for (const token of wrong) {
      const answer = await fetch(url, {
        method,
        headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      });
      expect([method, url, answer.status]).toEqual([method, url, 401]);
      bodies.add(await answer.text());
    }
    expect(bodies.size).toBe(1);
  }
});
