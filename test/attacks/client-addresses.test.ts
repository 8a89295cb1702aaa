/** Addresses that a client forges, or has many of, to get around the limit of one. */
import { describe, expect, test } from 'bun:test';
import { addressBlock } from '../../src/domain/limits/address-block.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { openLiveLogs } from '../backend/live-logs-under-test.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const LIMIT = 20;
const direct = useResource(() => openGateway({ addressRequestsPerMinute: LIMIT }));
const proxied = useResource(() =>
  openGateway({ addressRequestsPerMinute: LIMIT, trustedProxies: ['127.0.0.1'] }),
);
const backend = useResource(() => openBackend({ requestsPerMinute: LIMIT }));

/** Another address of the same network each time, written in another way. */
const inNetwork = (turn: number) =>
  turn % 2 === 0 ? `2001:db8:5:7::${turn.toString(16)}` : `2001:0DB8:5:7:a:b:c:${turn.toString(16)}`;

const FORGED = ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'forwarded'];
const attacks = [
  [
    'that a client sends itself',
    direct,
    (turn: number) => FORGED.map((name) => [name, `198.51.100.${turn}`]),
  ],
  ['of one IPv6 network', proxied, (turn: number) => [['x-forwarded-for', inNetwork(turn)]]],
] as const;

test.each(attacks)(
  'G-39 addresses %s share the request limit of one at the gateway',
  async (_, gateway, headersOf) => {
    const { rawKey } = await gateway.mint();
    const statuses: number[] = [];
    for (let turn = 0; turn < 2 * LIMIT; turn += 1) {
      const headers = Object.fromEntries(headersOf(turn));
      const body = { model: 'svc/chat-default', messages: [] };
      const answer = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
      await answer.text();
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([...Array(LIMIT).fill(200), ...Array(LIMIT).fill(429)]);
  },
);

describe('addresses of one IPv6 network', () => {
  test('share the request limit of one address at the backend', async () => {
    const codes: (string | undefined)[] = [];
    for (let turn = 0; turn < 2 * LIMIT; turn += 1) {
      const { errors } = await graphqlClient(backend.fetch, null, inNetwork(turn)).answer('{ __typename }');
      codes.push(errors?.[0]?.extensions.code);
    }
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(LIMIT);
  });

  test('P-8 share the log-in limit of one address', async () => {
    const attempts = await openBackend();
    const codes: (string | undefined)[] = [];
    for (let turn = 0; turn < 130; turn += 1) {
      const client = graphqlClient(attempts.fetch, null, inNetwork(turn));
      const query = `mutation { login(email: "p${turn}@people.example", password: "x") { expiresAt } }`;
      codes.push((await client.refusal(query)).extensions.code);
    }
    await attempts.close();
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(30);
  });
});

describe('one address', () => {
  const live = useResource(() => openLiveLogs({ maxSockets: 12, maxSocketsOfAddress: 5 }));

  /** As far as a socket gets, from an address that the backend is given. */
  function handshake(address: string) {
    const headers = { upgrade: 'websocket', 'sec-websocket-protocol': 'graphql-transport-ws' };
    const request = new Request('http://backend.test/graphql', { headers });
    const connection = { peerAddress: address, mayBeSilent() {}, mustBeRead() {} };
    const answer = live.app.sockets.answer(request, connection);
    if (answer?.outcome !== 'accepted') return null;
    return answer.opened({ send: async () => {}, close() {} });
  }

  test('P-13 cannot take all connections of the live log, nor can its network', async () => {
    const taken = Array.from({ length: 20 }, (_, turn) => handshake(inNetwork(turn)));
    expect(taken.filter((socket) => socket !== null)).toHaveLength(5);
    const other = handshake('198.51.100.4');
    expect(other).not.toBeNull();
    taken[0]?.closed(1000, '');
    const again = handshake(inNetwork(99));
    expect(again).not.toBeNull();
    for (const socket of [...taken.slice(1), other, again]) socket?.closed(1000, '');
  });
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:c000:207', '192.0.2.7'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
  ['2001:db8:0:1::', '2001:db8:0:1::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['', ''],
  ['1::2::3', '1::2::3'],
  ['1:2:3', '1:2:3'],
])('the address %p counts as %p: IPv6 as its /64 network, IPv4 as itself', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});
