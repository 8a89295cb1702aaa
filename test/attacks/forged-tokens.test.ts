import { expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { JWT_SECRET, openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('P-8 tokens without a signature, with another algorithm, key, subject or time are anonymous', async () => {
  const { superAdmin, member } = backend.people;
  const [header = '', payload = '', signature = ''] = member.token.split('.');
  const now = Math.floor(backend.clock.now() / 1000);
  const claims = { sub: superAdmin.userId, email: superAdmin.email, iat: now, exp: now + 900 };
  const sign = (body: Record<string, unknown>, alg = 'HS256', key = JWT_SECRET) =>
    new SignJWT(body).setProtectedHeader({ alg, typ: 'JWT' }).sign(new TextEncoder().encode(key));
  const forged = [
    `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`,
    `${encode({ alg: 'NONE', typ: 'JWT' })}.${encode(claims)}.${signature}`,
    `${header}.${encode(claims)}.${signature}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}.${payload}.${signature}x.${signature}`,
    `${encode({ alg: 'HS256', typ: 'JWT', kid: '../../dev/null' })}.${encode(claims)}.${signature}`,
    await sign(claims, 'HS512', JWT_SECRET + JWT_SECRET),
    await sign(claims, 'HS256', 'another secret of sufficient length'),
    await sign({ ...claims, exp: now - 1 }),
    await sign({ ...claims, exp: now }),
    await sign({ sub: claims.sub, email: claims.email, iat: now }),
    await sign({ email: claims.email, iat: now, exp: now + 900 }),
    await sign({ ...claims, sub: 'nobody' }),
    await sign({ ...claims, sub: ['x'] }),
    await sign({ ...claims, exp: 'later' }),
    'x'.repeat(50_000),
  ];
  for (const token of forged) {
    const { extensions } = await graphqlClient(backend.fetch, token).refusal(
      '{ companies { nodes { id } } }',
    );
    expect([token.slice(0, 60), extensions.code]).toEqual([token.slice(0, 60), 'UNAUTHENTICATED']);
  }
  const right = graphqlClient(backend.fetch, await sign(claims));
  expect(await right.ask('{ whoAmI { email } }')).toEqual({ whoAmI: { email: superAdmin.email } });
});
