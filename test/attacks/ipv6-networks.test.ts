import { describe, expect, test } from 'bun:test';
import { addressBlock } from '../../src/domain/limits/address-block.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { openLiveLogs } from '../backend/live-logs-under-test.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

/** Another address of the same network each time, written in another way. */
const inNetwork = (turn: number) =>
  turn % 2 === 0 ? `2001:db8:5:7::${turn.toString(16)}` : `2001:0DB8:5:7:a:b:c:${turn.toString(16)}`;

describe('addresses of one IPv6 network', () => {
  const gateway = useResource(() =>
    openGateway({ addressRequestsPerMinute: 20, trustedProxies: ['127.0.0.1'] }),
  );
  const backend = useResource(() => openBackend({ requestsPerMinute: 20 }));

  test('G-39 share the request limit of one address at the gateway', async () => {
    const { rawKey } = await gateway.mint();
    const call = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      const body = { model: 'svc/chat-default', messages: [] };
      const answer = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
      await answer.text();
      return answer.status;
    };
    const statuses: number[] = [];
    for (let turn = 0; turn < 40; turn += 1) statuses.push(await call(inNetwork(turn)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect(await call('2001:db8:5:8::1')).toBe(200);
  });

  test('share the request limit of one address at the backend', async () => {
    const codes: (string | undefined)[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      const { errors } = await graphqlClient(backend.fetch, null, inNetwork(turn)).answer('{ __typename }');
      codes.push(errors?.[0]?.extensions.code);
    }
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(20);
  });

  test('P-8 share the log-in limit of one address', async () => {
    const { attempts } = { attempts: await openBackend() };
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

test('an IPv6 address counts as its /64 network, an IPv4 address as itself in any notation', () => {
  for (const [address, block] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['', ''],
    ['1::2::3', '1::2::3'],
    ['1:2:3', '1:2:3'],
    ['unix:/run/x', 'unix:/run/x'],
  ] as const) {
    expect([address, addressBlock(address)]).toEqual([address, block]);
  }
});
