import { describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createAccessTokens } from './tokens.ts';

const secret = 'k3J9xQ0vTz7LmPw2RbYc5NdHs8GfAu1E';
const subject = { userId: 'u1', email: 'ada@acme.example' };
const start = Date.UTC(2026, 0, 1);

function decode(part: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
}

describe('access tokens', () => {
  test('P-8 a token is HS256 with exactly the claims sub, email, iat and exp without a session', async () => {
    const tokens = await createAccessTokens([secret], createManualClock(start), 900);
    const { token, expiresAt } = await tokens.issue(subject);
    const [header, payload] = token.split('.').slice(0, 2).map(decode);
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT' });
    const iat = start / 1000;
    expect(payload).toEqual({ sub: 'u1', email: 'ada@acme.example', iat, exp: iat + 900 });
    expect(expiresAt).toEqual(new Date(start + 900_000));
  });

  test('a token is valid until it expires, and not a second longer', async () => {
    const clock = createManualClock(start);
    const tokens = await createAccessTokens([secret], clock, 900);
    const { token } = await tokens.issue(subject);
    await clock.advance(899_000);
    expect(await tokens.verify(token)).toEqual({
      ...subject,
      sessionId: null,
      issuedAt: new Date(start),
      expiresAt: new Date(start + 900_000),
    });
    await clock.advance(1_000);
    expect(await tokens.verify(token)).toBeNull();
  });

  test('during a rotation both secrets are accepted; then the old one is not', async () => {
    const clock = createManualClock(start);
    const next = 'a new secret of at least thirty-two characters';
    const [old, both, renewed] = await Promise.all([
      createAccessTokens([secret], clock),
      createAccessTokens([next, secret], clock),
      createAccessTokens([next], clock),
    ]);
    const { token: before } = await old.issue(subject);
    const { token: after } = await both.issue(subject);
    expect(await both.verify(before)).toMatchObject(subject);
    expect(await both.verify(after)).toMatchObject(subject);
    expect(await renewed.verify(after)).toMatchObject(subject);
    expect([await renewed.verify(before), await old.verify(after)]).toEqual([null, null]);
  });

  test('forged, altered, foreign and incomplete tokens authenticate no user', async () => {
    const clock = createManualClock(start);
    const tokens = await createAccessTokens([secret], clock);
    const { token } = await tokens.issue(subject);
    const [header, payload, signature] = token.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = start / 1000 + 900;
    const claims = { sub: 'u1', email: 'e', iat: start / 1000, exp };
    const sign = (body: object, alg: string, key: string) =>
      new SignJWT(body as Record<string, unknown>)
        .setProtectedHeader({ alg })
        .sign(new TextEncoder().encode(key));
    const forgeries = [
      '',
      'a.b.c',
      `${encode({ alg: 'none' })}.${payload}.`,
      `${header}.${encode({ ...claims, sub: 'u2' })}.${signature}`,
      `${header}.${payload}`,
      await sign(claims, 'HS512', secret + secret),
      await sign(claims, 'HS256', 'another secret of sufficient length'),
      await sign({ email: 'e', iat: 1, exp }, 'HS256', secret),
      await sign({ sub: 'u1', iat: 1, exp }, 'HS256', secret),
      await sign({ sub: 'u1', email: 'e', iat: 1 }, 'HS256', secret),
      await sign({ ...claims, sid: 7 }, 'HS256', secret),
      await sign({ ...claims, sid: ['s1'] }, 'HS256', secret),
      'x'.repeat(100_000),
    ];
    for (const forgery of forgeries) expect(await tokens.verify(forgery)).toBeNull();
  });
});
