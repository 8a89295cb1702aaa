import { expect, test } from 'bun:test';
import { BlockList, isIP } from 'node:net';
import { read } from '../deployment/deployment-files.ts';
import { readCompose, readManifests } from '../deployment/manifests.ts';

const DIGEST = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

test('every foreign image is pinned by its digest, so that a moved tag changes nothing', () => {
  const bases = [...read('Dockerfile').matchAll(/^FROM (?:--\S+ )?(\S+)/gm)].map(([, image = '']) => image);
  const stores = readCompose().flatMap(([, service]) =>
    service.build === undefined ? [service.image ?? ''] : [],
  );
  expect(bases).toHaveLength(2);
  expect(stores).toHaveLength(2);
  for (const image of [...bases, ...stores]) expect(image).toMatch(DIGEST);
});

test('compose: Redis requires a password that is in no command line, and no store is reachable from outside', () => {
  const services = Object.fromEntries(readCompose());
  const command = services.redis?.command.join(' ') ?? '';
  expect(command).toContain('requirepass %s');
  expect(command).not.toContain('--requirepass');
  expect(command).not.toMatch(/\$\{/);
  expect(services.redis?.environment.REDISCLI_AUTH).toStartWith('${REDIS_PASSWORD:?');
  for (const name of ['gateway', 'backend', 'ai-service']) {
    expect(services[name]?.environment.REDIS_URL).toMatch(
      /^redis:\/\/:\$\{REDIS_PASSWORD:\?[^}]*\}@redis:6379$/,
    );
  }
  for (const name of ['postgres', 'redis']) {
    expect(services[name]?.networks).toEqual(['stores']);
    expect(services[name]?.ports).toBeUndefined();
  }
  const { networks } = Bun.YAML.parse(read('compose.yaml')) as {
    networks: Record<string, { internal?: boolean } | null>;
  };
  expect(networks.stores?.internal).toBe(true);
});

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}
interface Egress {
  readonly to?: readonly Peer[];
}

/** Inside addresses of every kind; the second half must not be reached over IPv6 either. */
const INSIDE = [
  ...['10.0.0.1', '172.16.0.1', '172.31.255.254', '192.168.1.1', '100.64.0.1', '100.100.100.200'],
  ...['169.254.169.254', '127.0.0.1', '168.63.129.16', '192.0.0.192', '224.0.0.1', '0.0.0.0'],
  ...['fd00:ec2::254', 'fc00::1', 'fe80::1', '::1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::'],
];

test('Kubernetes: connections inside the cluster go only to peers that a policy names', () => {
  const policies = readManifests('deploy/kubernetes').filter(({ kind }) => kind === 'NetworkPolicy');
  const rules = policies.flatMap(({ spec }) => (spec as { egress?: readonly Egress[] }).egress ?? []);
  expect(rules.length).toBeGreaterThan(3);
  // A rule without `to` is one to everywhere.
  for (const { to } of rules) expect(to?.length ?? 0).toBeGreaterThan(0);
  const blocks = rules.flatMap(({ to }) => (to ?? []).flatMap(({ ipBlock }) => ipBlock ?? []));
  expect(blocks).toHaveLength(2);
  for (const { cidr, except = [] } of blocks) {
    const [reached, left] = [listOf([cidr]), listOf(except)];
    const isReached = (address: string) => reached(address) && !left(address);
    for (const address of INSIDE) expect([cidr, address, isReached(address)]).toEqual([cidr, address, false]);
  }
  const outside = (address: string) =>
    blocks.some(({ cidr, except = [] }) => listOf([cidr])(address) && !listOf(except)(address));
  for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111'])
    expect([address, outside(address)]).toEqual([address, true]);
});

function listOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  // A mapped address is IPv6 on the wire of a policy: only the family of the block decides.
  return (address) =>
    familyOf(address) === familyOf(networks[0]?.split('/')[0] ?? '') &&
    list.check(address, familyOf(address));
}

test('a dependency cannot be replaced: exact versions, a hash for every package, no install script except the allowed one', () => {
  const { dependencies, devDependencies, allowScripts } = JSON.parse(read('package.json'));
  const { packages } = JSON.parse(read('package-lock.json'));
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    expect([name, String(version)]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
  }
  const locked = Object.entries<Record<string, unknown>>(packages).filter(([path]) => path !== '');
  expect(locked.length).toBeGreaterThan(100);
  const withoutHash = locked.filter(([, entry]) => !String(entry.integrity ?? '').startsWith('sha512-'));
  expect(withoutHash.map(([path]) => path)).toEqual([]);
  const withScript = locked.filter(([, entry]) => entry.hasInstallScript === true).map(([path]) => path);
  const allowed = Object.entries(allowScripts).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
  expect(allowed).toEqual(['bun']);
  const named = withScript.map((path) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  expect(named.filter((name) => !(name in allowScripts))).toEqual([]);
});
