import { describe, expect, spyOn, test } from 'bun:test';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { useResource } from '../setup/use-resource.ts';

const LIMIT = 40;
const backend = useResource(() => openBackend({ requestsPerMinute: LIMIT }));

function graphql(peerAddress: string, token: string | null = null): Promise<Response> {
  const headers = new Headers({ 'content-type': 'application/json' });
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  const body = JSON.stringify({ query: '{ __typename }' });
  return backend.fetch(
    new Request('http://backend.test/graphql', { method: 'POST', headers, body }),
    peerAddress,
  );
}

async function statusesOf(count: number, send: (turn: number) => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let turn = 0; turn < count; turn += 1) statuses.push((await send(turn)).status);
  return statuses;
}

const ok = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length;

describe('BACKEND_REQUESTS_PER_MINUTE', () => {
  test('an address without a token is refused beyond it, with a Retry-After, and others are not', async () => {
    expect(ok(await statusesOf(LIMIT + 20, () => graphql('198.51.100.1')))).toBe(LIMIT);
    const refused = await graphql('198.51.100.1');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    expect((await graphql('198.51.100.2')).status).toBe(200);
    const get = new Request('http://backend.test/graphql?query={__typename}');
    expect((await backend.fetch(get, '198.51.100.1')).status).toBe(429);
    await backend.clock.advance(60_000);
    expect((await graphql('198.51.100.1')).status).toBe(200);
  });

  test('a signed-in user is counted by user, from any address; a wrong token is no user', async () => {
    const { admin, member } = backend.people;
    const from = (turn: number) => `203.0.113.${turn}`;
    expect(ok(await statusesOf(LIMIT + 10, (turn) => graphql(from(turn), admin.token)))).toBe(LIMIT);
    expect((await graphql('203.0.113.1', member.token)).status).toBe(200);
    expect((await graphql('203.0.113.1')).status).toBe(200);
    expect(ok(await statusesOf(LIMIT + 10, () => graphql('203.0.113.200', `${admin.token}x`)))).toBe(LIMIT);
  });

  test('a service token is counted as its creator', async () => {
    const admin = await backend.person(backend.companies.acme, { role: 'COMPANY_ADMIN' });
    const mint = 'mutation { createServiceToken(name: "ci", scopes: ["keys:read"]) { rawToken } }';
    const { createServiceToken } = await admin.ask<{ createServiceToken: { rawToken: string } }>(mint);
    const send = (turn: number) => graphql(`203.0.114.${turn}`, createServiceToken.rawToken);
    expect(ok(await statusesOf(LIMIT + 10, send))).toBe(LIMIT - 1);
  });

  test('invented service tokens beyond it cost no statement, and a valid one from there is still answered', async () => {
    const admin = await backend.person(backend.companies.other, { role: 'COMPANY_ADMIN' });
    const mint =
      'mutation { createServiceToken(name: "ci", scopes: ["keys:read"]) { rawToken serviceToken { id } } }';
    const { createServiceToken } = await admin.ask<{
      createServiceToken: { rawToken: string; serviceToken: { id: string } };
    }>(mint);
    const address = '203.0.116.1';
    expect((await graphql(address, createServiceToken.rawToken)).status).toBe(200);
    const invented = (turn: number) => `tps_${String(turn).padStart(43, 'A')}`;
    await statusesOf(LIMIT, (turn) => graphql(address, invented(turn)));
    const statements = spyOn(backend.database, 'query');
    try {
      const late = await statusesOf(20, (turn) => graphql(address, invented(1_000 + turn)));
      expect([new Set(late), statements.mock.calls.length]).toEqual([new Set([429]), 0]);
    } finally {
      statements.mockRestore();
    }
    expect((await graphql(address, createServiceToken.rawToken)).status).toBe(200);
    await admin.ask('mutation($id: ID!) { revokeServiceToken(id: $id) { id } }', {
      id: createServiceToken.serviceToken.id,
    });
    expect((await graphql(address, createServiceToken.rawToken)).status).toBe(429);
  });

  test('sessions of the console are counted as log-ins', async () => {
    const send = () => {
      const headers = { 'content-type': 'application/json', origin: 'https://console.example' };
      const body = JSON.stringify({ email: 'a@b.example', password: 'wrong' });
      const url = 'http://backend.test/session/login';
      return backend.fetch(new Request(url, { method: 'POST', headers, body }), '198.51.100.77');
    };
    let last = '';
    for (let turn = 0; turn < LIMIT + 1; turn += 1) last = await (await send()).text();
    expect(last).toContain('RATE_LIMITED');
  });

  test('health, pages and the webhook are exempt', async () => {
    const send = () => backend.fetch(new Request('http://backend.test/health'), '198.51.100.1');
    expect(ok(await statusesOf(LIMIT * 2, send))).toBe(LIMIT * 2);
  });

  test('0 is off', async () => {
    const open = await openBackend({ requestsPerMinute: 0 });
    const anonymous = graphqlClient(open.fetch, null);
    for (let turn = 0; turn < LIMIT * 2; turn += 1) await anonymous.ask('{ __typename }');
    await open.close();
  });
});

describe('payment events with a wrong signature', () => {
  const isGood = (signature: string | null) => signature === 'good';
  const received: string[] = [];
  const shop = useResource(async () => {
    const base = await openBackend();
    const provider = {
      ...base.parts.provider,
      verifyEvent: (_: Uint8Array, signature: string | null) =>
        isGood(signature)
          ? { outcome: 'verified' as const, event: { id: 'evt_1', type: 'invoice.paid' } as never }
          : { outcome: 'refused' as const, message: 'No signatures found matching' },
    };
    const paymentEvents = {
      ...base.parts.paymentEvents,
      receive: async () => {
        received.push('one');
        return { outcome: 'applied' as const } as never;
      },
    };
    await base.close();
    return await openBackend({ provider, paymentEvents });
  });
  const post = (signature: string, peerAddress: string) => {
    const url = 'http://backend.test/payments/webhook';
    const headers = { 'stripe-signature': signature };
    return shop.fetch(new Request(url, { method: 'POST', headers, body: '{}' }), peerAddress);
  };

  test('are limited by address and do not fill the log; correctly signed ones pass, from the same address too', async () => {
    const statuses = await statusesOf(300, () => post('bad', '198.51.100.9'));
    expect(statuses.slice(0, 120).every((status) => status === 400)).toBe(true);
    expect(statuses.slice(120).every((status) => status === 429)).toBe(true);
    const refused = await post('bad', '198.51.100.9');
    expect(await refused.text()).toStartWith('Webhook Error:');
    expect(refused.headers.get('retry-after')).not.toBeNull();
    const lines = shop.entries.filter(({ message }) => message === 'a payment event was refused');
    expect(lines.length).toBeLessThanOrEqual(120);
    expect((await post('bad', '198.51.100.10')).status).toBe(400);
    expect(await statusesOf(200, () => post('good', '198.51.100.9'))).toEqual(
      Array.from({ length: 200 }, () => 200),
    );
    expect(received).toHaveLength(200);
  });
});
