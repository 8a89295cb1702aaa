import { describe, expect, test } from 'bun:test';
import { createApproveHost } from '../../src/adapters/outgoing-addresses/approve-host.ts';
import type { ApproveHost } from '../../src/ports/outgoing-addresses.ts';
import { exceptOwnHosts, httpProxyOf } from '../../src/start/settings/http-proxy.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { createShop } from '../contracts/payment-provider.contract.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { until } from '../doubles/until.ts';
import { useSandbox } from '../payment-sandbox/sandbox-under-test.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';

/** Every network that is inside, and every way of writing an address that reaches one on some system. */
const INSIDE = `
  127.8.8.8 10.1.2.3 172.31.255.255 192.168.1.1 0.0.0.0 0 100.64.0.1 168.63.129.16 169.254.169.254 192.0.0.192 198.18.0.1
  224.0.0.1 240.0.0.1 255.255.255.255
  2130706433 0x7f000001 017700000001 0x7f.1 127.1 127.0.0.1. １２７.0.0.1
  localhost LOCALHOST localhost. x.y.localhost.
  [::1] [::] [::ffff:127.0.0.1] [::ffff:a00:1] [::127.0.0.1] [::a00:1]
  [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b:1::a00:1] [2002:7f00:1::] [2001::1]
  [fd00:ec2::254] [fc00::1] [fe80::1] [fec0::1] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1]`
  .trim()
  .split(/\s+/);
const OUTSIDE = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '[2606:4700::1111]', '[64:ff9b::8.8.8.8]'];

const never = async () => {
  throw new Error('an address and a local name need no resolver');
};

function approving(changes: Partial<Parameters<typeof createApproveHost>[0]> = {}): ApproveHost {
  const addressesOf = never;
  return createApproveHost({ clock: createManualClock(), allowed: [], addressesOf, ...changes });
}

/** `approved`, or why not. */
async function outcomeOf(approve: ApproveHost, host: string): Promise<string> {
  return (await approve(host)).outcome;
}

describe('hosts configured by users', () => {
  test('an internal address is refused in every notation, as a URL parses it and literally', async () => {
    const approve = approving();
    for (const host of INSIDE) {
      expect([host, await outcomeOf(approve, host)]).toEqual([host, 'inside']);
      const { hostname } = new URL(`http://${host}/v1`);
      expect([host, await outcomeOf(approve, hostname)]).toEqual([host, 'inside']);
    }
    for (const host of OUTSIDE) expect([host, await outcomeOf(approve, host)]).toEqual([host, 'approved']);
  });

  test('an allowed network is reachable, and adjacent addresses are not', async () => {
    const approve = approving({ allowed: ['10.1.0.0/16', 'fd00::1'] });
    const hosts = ['10.1.2.3', '10.2.0.1', '[fd00::1]', '[fd00::2]', '127.0.0.1'];
    const outcomes = await Promise.all(hosts.map((host) => outcomeOf(approve, host)));
    expect(outcomes).toEqual(['approved', 'inside', 'approved', 'inside', 'inside']);
    const all = approving({ allowed: 'all' });
    expect(await all('localhost.')).toEqual({ outcome: 'approved', addresses: ['127.0.0.1', '::1'] });
  });

  test('the addresses of this machine are internal, public ones too', async () => {
    const approve = approving({ ownAddresses: () => ['9.9.9.9'] });
    expect(await outcomeOf(approve, '9.9.9.9')).toBe('inside');
    expect(await outcomeOf(approve, '9.9.9.10')).toBe('approved');
  });

  test('a name is refused if any of its addresses is, and is resolved again after ten seconds', async () => {
    const clock = createManualClock();
    let addresses = ['8.8.8.8', '2606:4700::1111'];
    let resolved = 0;
    const addressesOf = async () => {
      resolved += 1;
      return addresses;
    };
    const approve = approving({ clock, addressesOf });
    const both = await Promise.all([approve('provider.example'), approve('Provider.Example.')]);
    expect(both).toEqual([
      { outcome: 'approved', addresses },
      { outcome: 'approved', addresses },
    ]);
    addresses = ['8.8.8.8', '169.254.169.254'];
    expect(await outcomeOf(approve, 'provider.example')).toBe('approved');
    await clock.advance(10_000);
    expect(await approve('provider.example')).toEqual({
      outcome: 'inside',
      problem:
        'provider.example (169.254.169.254) is inside the network: allow its network with UPSTREAM_PRIVATE_NETWORKS',
    });
    expect(resolved).toBe(2);
  });

  test('a name without an address is refused, unless a proxy resolves names', async () => {
    const addressesOf = async () => [];
    expect(await approving({ addressesOf })('nosuch.example')).toEqual({
      outcome: 'unresolved',
      problem: 'nosuch.example has no address: check the name and the resolver',
    });
    const behindProxy = approving({ addressesOf, hasProxy: true });
    expect(await behindProxy('nosuch.example')).toEqual({ outcome: 'approved', addresses: [] });
    expect(await outcomeOf(behindProxy, 'x.localhost')).toBe('inside');
    for (const host of ['', '.', 'a b', 'a..', 'a/b', 'a@b', 'a:80', '[::1', 'a#b']) {
      expect([host, await outcomeOf(behindProxy, host)]).toEqual([host, 'unresolved']);
    }
  });

  test('while the resolver does not answer, the last approval applies for five minutes, a refusal does not', async () => {
    const clock = createManualClock();
    let found: readonly string[] | null = ['8.8.8.8'];
    const approve = approving({ clock, addressesOf: async () => found });
    await approve('provider.example');
    found = null;
    await clock.advance(299_000);
    expect(await outcomeOf(approve, 'provider.example')).toBe('approved');
    await clock.advance(1_000);
    expect(await outcomeOf(approve, 'provider.example')).toBe('unresolved');
    expect(await outcomeOf(approve, 'other.example')).toBe('unresolved');
  });

  test('a look-up that failed for want of a descriptor says nothing about the name, and is not remembered', async () => {
    const clock = createManualClock();
    let fault: 'descriptors' | null = null;
    const addressesOf = async () => {
      if (fault === null) return ['8.8.8.8'];
      // What the runtime reports then.
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const approve = approving({ clock, addressesOf, localFaults: { explain: () => fault } });
    await approve('provider.example');
    fault = 'descriptors';
    await clock.advance(20_000);
    expect(await outcomeOf(approve, 'provider.example')).toBe('approved');
    expect(await approve('other.example')).toMatchObject({
      outcome: 'local-fault',
      problem: expect.stringContaining('this machine lacks'),
    });
    fault = null;
    expect(await outcomeOf(approve, 'other.example')).toBe('approved');
  });
});

describe('where addresses are configured', () => {
  const approveHost = approving({ addressesOf: async () => [] });
  const backend = useResource(() => openBackend({ approveHost }));

  test('a super admin who sets a target in the internal network, or one without an address, is refused at once', async () => {
    const set = `mutation($url: String!) { setAliasTargets(alias: "svc/chat-cheap",
      targets: [{ baseUrl: $url, model: "m" }]) { alias } }`;
    const { superAdmin } = backend.people;
    for (const [url, problem] of [
      ['http://169.254.169.254/latest', '169.254.169.254 is inside the network'],
      ['https://nosuch.example/v1', 'nosuch.example has no address'],
    ] as const) {
      const { message, extensions } = await superAdmin.refusal(set, { url });
      expect(message).toStartWith(`targets.0.baseUrl: ${problem}`);
      expect(extensions.code).toBe('BAD_USER_INPUT');
    }
    expect(await superAdmin.ask(set, { url: 'https://8.8.8.8/v1' })).toEqual({
      setAliasTargets: { alias: 'svc/chat-cheap' },
    });
  });
});

describe('endpoints that are registered at the payment sandbox', () => {
  const { sandbox } = useSandbox({ approveHost: approving() }, useMemoryDatabase);
  const shop = createShop(
    () => ({
      provider: sandbox.provider,
      pay: async (id) => void (await sandbox.click(`/checkout/${id}/pay`)),
    }),
    'outgoing addresses',
  );

  test('are not called in the internal network, except for the backend’s own', async () => {
    let arrived = 0;
    const fetch = () => {
      arrived += 1;
      return new Response('what only this machine can read');
    };
    const inside = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch });
    const endpoint = { url: `http://localhost.:${inside.port}/`, 'enabled_events[0]': '*' };
    expect(await sandbox.call('POST', '/v1/webhook_endpoints', endpoint)).toMatchObject({ status: 200 });
    await shop.buy('payment', 900n);
    await until(() => sandbox.received.length > 0);
    await until(async () => {
      const deliveries = await globalThis.fetch(`${sandbox.url}/sandbox/deliveries?limit=1000`);
      const { data } = (await deliveries.json()) as { data: { state: string; attempts: number }[] };
      return data.some(({ state, attempts }) => state === 'pending' && attempts === 1) || arrived > 0;
    });
    expect(arrived).toBe(0);
    await inside.stop(true);
  });
});

test('what the runtime sends through a proxy is what we take it to send there', async () => {
  const proxy = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('proxied') });
  const environment = {
    HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
    NO_PROXY:
      'a.localhost, .b.localhost,*.c.localhost D.LOCALHOST,e.localhost:80,f.localhost.,127.0.0.1,::1,[::2],*g',
  };
  const hosts = ['a', 'x.a', 'xa', 'A', 'b', 'x.b', 'xb', 'c', 'x.c', 'd', 'e', 'f', 'g', 'h', 'x.f'];
  const urls = hosts.map((host) => `http://${host}.localhost:1/`);
  urls.push('http://e.localhost:80/', 'http://a.localhost.:1/', 'http://127.0.0.1:1/', 'http://127.0.0.2:1/');
  urls.push('http://[::1]:1/', 'http://[::2]:1/', 'http://0x7f000001:1/', 'https://h.localhost:1/');
  const script = `const of = (url) => fetch(url).then((answer) => answer.text(), () => 'direct');
    console.log(JSON.stringify(await Promise.all(JSON.parse(process.argv[1]).map(of))));`;
  const child = Bun.spawn([process.execPath, '-e', script, JSON.stringify(urls)], {
    ...{ env: environment, stdout: 'pipe' },
  });
  const seen = JSON.parse(await new Response(child.stdout).text()) as string[];
  await proxy.stop(true);
  const usesProxy = httpProxyOf(environment);
  const taken = urls.map((url) => (usesProxy?.(new URL(url)) === true ? 'proxied' : 'direct'));
  expect(urls.map((url, index) => [url, taken[index]])).toEqual(urls.map((url, index) => [url, seen[index]]));
  expect(new Set(taken)).toEqual(new Set(['proxied', 'direct']));
  for (const name of ['ALL_PROXY', 'all_proxy', 'https_proxy']) {
    expect(httpProxyOf({ [name]: 'http://x' })?.(new URL('https://a.example/'))).toBe(true);
  }
  expect(httpProxyOf({ HTTP_PROXY: '', NO_PROXY: '*' })).toBeNull();
});

test('no proxy carries what this machine requests of itself, and the exceptions of the operator stay', () => {
  const given = { HTTP_PROXY: 'http://x', HOST: ' 10.1.2.3 ', NO_PROXY: 'unused', no_proxy: 'a.example' };
  const usesProxy = httpProxyOf(exceptOwnHosts(exceptOwnHosts(given)));
  for (const host of ['127.0.0.1:1', 'localhost:1', '[::1]:1', '10.1.2.3:8080', 'a.example']) {
    expect([host, usesProxy?.(new URL(`http://${host}/`))]).toEqual([host, false]);
  }
  expect(usesProxy?.(new URL('http://10.1.2.4/'))).toBe(true);
  expect(given.no_proxy).toBe('a.example,localhost,127.0.0.1,::1,10.1.2.3');
  const unproxied = { HOST: '10.1.2.3' };
  expect(exceptOwnHosts(unproxied)).toEqual({ HOST: '10.1.2.3' });
});
