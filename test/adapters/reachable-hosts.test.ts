import { describe, expect, test } from 'bun:test';
import { createHttpUpstream } from '../../src/adapters/model-upstream/http.ts';
import { createReachableHosts } from '../../src/adapters/model-upstream/reachable-hosts.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

const INSIDE = [
  ...['127.0.0.1', '127.8.8.8', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
  ...['100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255'],
  ...[
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:10.0.0.1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[64:ff9b::7f00:1]',
  ],
];
const OUTSIDE = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '[2606:4700::1111]'];

describe('providers stand in the internet', () => {
  test('addresses that point inside the network are refused, in every way of writing them that a URL keeps', () => {
    const mayReach = createReachableHosts({ clock: createManualClock(), allowed: [] });
    for (const host of INSIDE)
      expect([host, mayReach(new URL(`http://${host}/v1`).hostname)]).toEqual([host, false]);
    for (const host of OUTSIDE) expect([host, mayReach(host)]).toEqual([host, true]);
    // A URL turns these into plain addresses before anybody asks.
    for (const host of ['2130706433', '0x7f.1', '0177.0.0.1']) {
      expect(mayReach(new URL(`http://${host}/`).hostname)).toBe(false);
    }
  });

  test('a network that is allowed is reached, and its neighbours are not', () => {
    const mayReach = createReachableHosts({
      clock: createManualClock(),
      allowed: ['10.1.0.0/16', 'fd00::1'],
    });
    const hosts = ['10.1.2.3', '10.2.0.1', '[fd00::1]', '[fd00::2]', '127.0.0.1'];
    expect(hosts.map((host) => mayReach(host))).toEqual([true, false, true, false, false]);
  });

  test('a name is as good as the worst of its addresses, and is asked again after ten seconds', async () => {
    const clock = createManualClock();
    let addresses = ['8.8.8.8', '2606:4700::1111'];
    let asked = 0;
    const addressesOf = async () => {
      asked += 1;
      return addresses;
    };
    const mayReach = createReachableHosts({ clock, allowed: [], addressesOf });
    expect(await mayReach('provider.example')).toBe(true);
    addresses = ['8.8.8.8', '169.254.169.254'];
    expect(mayReach('provider.example')).toBe(true);
    await clock.advance(10_000);
    expect(await mayReach('provider.example')).toBe(false);
    expect(asked).toBe(2);
  });

  test('a call to one that is refused does not leave, and fails as one that cannot connect', async () => {
    let arrived = 0;
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch() {
        arrived += 1;
        return Response.json({});
      },
    });
    const clock = createManualClock();
    const sendWith = async (allowed: readonly string[]) => {
      const mayReach = createReachableHosts({ clock, allowed });
      const upstream = createHttpUpstream({ clock, log: createSilentLog(), mayReach });
      const target = { id: 't', baseUrl: `http://127.0.0.1:${server.port}`, model: 'm', apiKey: 'sk-1' };
      const { signal } = new AbortController();
      const body = new TextEncoder().encode('{}');
      const sent = await upstream
        .send(target, { endpoint: 'chat/completions', body, headers: {}, signal })
        .then(
          ({ status }) => status,
          ({ reason, cause }) => `${reason}: ${cause.message}`,
        );
      upstream.close();
      return sent;
    };
    expect(await sendWith([])).toBe(
      'connect: 127.0.0.1 is inside the network: allow its network with UPSTREAM_PRIVATE_NETWORKS',
    );
    expect(arrived).toBe(0);
    expect(await sendWith(['127.0.0.0/8'])).toBe(200);
    await server.stop(true);
  });

  test('localhost is found out by asking', async () => {
    const mayReach = createReachableHosts({ clock: createManualClock(), allowed: [] });
    expect(await mayReach('localhost')).toBe(false);
  });
});
