import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import { slotOf } from '../../../src/adapters/shared-state/redis/cluster.ts';
import type { RedisTopology } from '../../../src/adapters/shared-state/redis/topology.ts';
import { openRedisState } from '../../../src/adapters/shared-state/redis.ts';
import { failureOf, ignore, sharedStateContract } from '../../contracts/shared-state.contract.ts';
import { levelsContract } from '../../contracts/shared-state-levels.contract.ts';
import { windowsContract } from '../../contracts/shared-state-windows.contract.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { makeCertificates } from '../../services/certificates.ts';
import { freePort } from '../../services/free-port.ts';
import { type PausableRedis, startPausableRedis } from './pausable-redis.ts';

const log = createSilentLog();
const TIMEOUT_MS = 2_000;
const window = { kind: 'window', name: 'rpm', amount: 1, limit: 1_000, windowMs: 3_600_000 } as const;
const describeServers = describe.skipIf(Bun.which('redis-server') === null);

const open = (url: string, more: Partial<Parameters<typeof openRedisState>[0]> = {}) =>
  openRedisState({ url, log, timeoutMs: TIMEOUT_MS, ...more });

test('keys map to the slots of the specification, by their hash tag', () => {
  expect(slotOf('123456789')).toBe(0x31c3);
  expect(slotOf('turnpike:{company-7}:counted:rpm')).toBe(slotOf('company-7'));
  expect(slotOf('{}x')).not.toBe(slotOf('x'));
  expect(slotOf('foo{{bar}}zap')).toBe(slotOf('{bar'));
});

describeServers('a Redis Cluster of three primaries and a replica', () => {
  let nodes: PausableRedis[] = [];
  const [topology, prefix] = [
    { kind: 'cluster', nodes: [] } as RedisTopology,
    () => `c-${crypto.randomUUID()}`,
  ];
  const places = () => nodes.map(({ port }) => `127.0.0.1:${port}`);
  const idOf = (node: PausableRedis | undefined) => node?.command('CLUSTER', 'MYID') as Promise<string>;

  beforeAll(async () => {
    const words = [
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      'nodes.conf',
      '--cluster-node-timeout',
      '1500',
    ];
    nodes = await Promise.all(Array.from({ length: 4 }, () => startPausableRedis({ words })));
    const ranges = [
      [0, 5_460],
      [5_461, 10_922],
      [10_923, 16_383],
    ];
    for (const [at, range] of ranges.entries()) {
      await nodes[at]?.command('CLUSTER', 'ADDSLOTSRANGE', ...range.map(String));
    }
    for (const { port } of nodes.slice(1)) await nodes[0]?.command('CLUSTER', 'MEET', '127.0.0.1', `${port}`);
    const isWhole = async (node: PausableRedis) =>
      String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok');
    await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean));
    const first = await idOf(nodes[0]);
    await until(
      async () => (await nodes[3]?.command('CLUSTER', 'REPLICATE', first).catch(() => null)) === 'OK',
    );
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.remove()));
  });

  async function openContract() {
    const state = await open(nodes[0]?.url ?? '', { topology, prefix: prefix() });
    return { state, advance: state.advance, close: () => state.close() };
  }
  sharedStateContract('Redis Cluster', openContract);
  windowsContract('Redis Cluster', openContract);
  levelsContract('Redis Cluster', openContract, { isCluster: true });

  test('processes on different nodes share claims and messages', async () => {
    const own = { topology, prefix: prefix() };
    const [one, two] = await Promise.all([open(nodes[1]?.url ?? '', own), open(nodes[2]?.url ?? '', own)]);
    for (const tag of ['company-1', 'company-2', 'company-3']) {
      await one.reserve(tag, [window]);
      expect(await two.reserve(tag, [window])).toMatchObject({ limitStates: [{ used: 2 }] });
    }
    const heard: string[] = [];
    await two.subscribe('news', (message) => heard.push(message), ignore);
    await one.publish('news', 'm');
    await until(() => heard.length === 1);
    await Promise.all([one.close(), two.close()]);
  });

  test('a slot that moves to another node is followed, while it moves and afterwards', async () => {
    const own = { topology, prefix: prefix() };
    const state = await open(nodes[0]?.url ?? '', own);
    const tag =
      Array.from({ length: 1_000 }, (_, at) => `t${at}`).find((name) => slotOf(name) <= 5_460) ?? '';
    const [from, to, slot] = [nodes[0], nodes[1], String(slotOf(tag))];
    const [fromId, toId] = [await idOf(from), await idOf(to)];
    await state.reserve(tag, [window]);
    await to?.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
    await from?.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
    const key = `${own.prefix}:{${tag}}:counted:rpm`;
    await from?.command('MIGRATE', '127.0.0.1', String(to?.port), key, '0', '5000');
    // ASK: the key is there already, the slot not yet.
    expect(await state.reserve(tag, [window])).toMatchObject({ limitStates: [{ used: 2 }] });
    for (const node of [to, from, nodes[2]]) await node?.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
    // MOVED.
    expect(await state.reserve(tag, [window])).toMatchObject({ limitStates: [{ used: 3 }] });
    expect(await state.reserve(tag, [window])).toMatchObject({ limitStates: [{ used: 4 }] });
    await state.close();
  });

  test('a primary that dies: other slots continue, its replica takes over, and listeners get a gap', async () => {
    const state = await open(nodes[1]?.url ?? '', {
      topology: { kind: 'cluster', nodes: places() },
      prefix: prefix(),
    });
    const tagAt = (least: number, most: number) =>
      Array.from({ length: 1_000 }, (_, at) => `d${at}`).find(
        (one) => slotOf(one) >= least && slotOf(one) <= most,
      ) ?? '';
    const [lost, other] = [tagAt(0, 5_000), tagAt(11_000, 16_383)];
    let gaps = 0;
    await state.subscribe('news', ignore, () => {
      gaps += 1;
    });
    await state.reserve(lost, [window]);
    await until(async () =>
      String(await nodes[3]?.command('INFO', 'replication')).includes('master_link_status:up'),
    );
    await nodes[0]?.kill();
    expect(await failureOf(state.reserve(lost, [window]))).toMatchObject({ reason: 'unavailable' });
    expect(await state.reserve(other, [window])).toMatchObject({ outcome: 'reserved' });
    await until(async () => (await state.reserve(lost, [window]).catch(() => null)) !== null);
    await until(() => gaps > 0);
    await state.close();
  });

  test('a server that is not a cluster is refused, with the setting to change', async () => {
    const failure = await failureOf(open(nodes[1]?.url ?? ''));
    expect(failure).toMatchObject({
      reason: 'refused',
      message: expect.stringContaining('set REDIS_CLUSTER=on'),
    });
  });
});

describeServers('a primary that Sentinel watches', () => {
  let [primary, replica, sentinel]: (PausableRedis | null)[] = [];
  const topology = {
    kind: 'sentinel',
    primaryName: 'main',
    password: null,
    nodes: ['127.0.0.1:1'],
  } as const;
  const password = 'pass word';
  const url = () => `redis://:${encodeURIComponent(password)}@127.0.0.1:${sentinel?.port}`;

  beforeAll(async () => {
    primary = await startPausableRedis({ password });
    replica = await startPausableRedis({ password, words: ['--replicaof', '127.0.0.1', `${primary.port}`] });
    await until(async () =>
      String(await replica?.command('INFO', 'replication')).includes('master_link_status:up'),
    );
    sentinel = await startPausableRedis({
      sentinel: [
        `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
        'sentinel auth-pass main "pass word"',
        'sentinel down-after-milliseconds main 500',
        'sentinel failover-timeout main 5000',
        '',
      ].join('\n'),
    });
    const knows = async () =>
      JSON.stringify(await sentinel?.command('SENTINEL', 'REPLICAS', 'main')).includes('127.0.0.1');
    await until(knows);
  });
  afterAll(async () => {
    await Promise.all([primary, replica, sentinel].map((one) => one?.remove()));
  });

  test('is found by its name, and so is the replica that replaces it', async () => {
    const asReplica = await failureOf(open(replica?.url ?? ''));
    expect(asReplica.message).toContain('is a replica, which takes no writes');
    const state = await open(url(), { topology, prefix: 's' });
    let gaps = 0;
    await state.subscribe('news', ignore, () => {
      gaps += 1;
    });
    expect(await state.reserve('t', [window])).toMatchObject({ limitStates: [{ used: 1 }] });
    await primary?.kill();
    await until(async () => (await state.reserve('t', [window]).catch(() => null)) !== null);
    await until(() => gaps > 0);
    await state.close();
  });

  test('a Sentinel as a server, a server as a Sentinel, an unknown name and a wrong password are refused, each with advice', async () => {
    const asServer = await failureOf(open(sentinel?.url ?? ''));
    expect(asServer.message).toContain('is a Sentinel: set REDIS_SENTINEL_NAME');
    const asSentinel = await failureOf(
      open(replica?.url ?? '', { topology: { ...topology, password, nodes: [] } }),
    );
    expect(asSentinel).toMatchObject({
      reason: 'refused',
      message: expect.stringContaining('is no Sentinel: use the addresses of the Sentinels'),
    });
    const named = { topology: { ...topology, primaryName: 'other' } };
    const unknown = await failureOf(open(sentinel?.url ?? '', named));
    expect(unknown).toMatchObject({
      reason: 'unavailable',
      message: expect.stringContaining('knows the primary "other"'),
    });
    await sentinel?.command('ACL', 'SETUSER', 'default', 'resetpass', '>watch');
    await failureOf(open(url(), { topology }));
    const state = await open(url(), { topology: { ...topology, password: 'watch' } });
    await state.check();
    await state.close();
  });
});

describeServers('a Redis with TLS and a user of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-'));
  const certificates = makeCertificates(folder);
  const port = freePort();
  const url = `rediss://app@localhost:${port}`;
  const [ca, password] = [readFileSync(certificates.ca, 'utf8'), 'p@ss:w/rd'];
  let server: PausableRedis | null = null;

  beforeAll(async () => {
    const users = join(folder, 'users.acl');
    const rights = '~turnpike:* &turnpike:* +@all -@admin -@dangerous';
    writeFileSync(users, `user default on nopass ~* &* +@all\nuser app on >${password} ${rights}\n`);
    const tls = { port, 'cert-file': certificates.certificate, 'key-file': certificates.key };
    const words = Object.entries({ ...tls, 'ca-cert-file': certificates.ca, 'auth-clients': 'no' });
    server = await startPausableRedis({
      words: [...words.flatMap(([name, value]) => [`--tls-${name}`, `${value}`]), '--aclfile', users],
    });
  });
  afterAll(async () => {
    await server?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('works with the documented permissions, and the certificate is verified', async () => {
    const state = await open(url, { password: () => password, ca });
    expect(await state.reserve('t', [window])).toMatchObject({ outcome: 'reserved' });
    await state.settle('t', [{ kind: 'release', name: 'calls', entry: 'a' }]);
    await state.set('v', 'text', 60_000);
    const heard: string[] = [];
    await state.subscribe('news', (message) => heard.push(message), ignore);
    await state.publish('news', 'm');
    await until(() => heard.length === 1);
    await state.close();
    const client = new RedisClient(url.replace('app@', `app:${encodeURIComponent(password)}@`), {
      tls: { ca },
    });
    expect(client.send('CONFIG', ['GET', '*'])).rejects.toThrow('NOPERM');
    expect(client.send('GET', ['elsewhere'])).rejects.toThrow('NOPERM');
  });

  test('a changed password is used by the next connection, without a restart', async () => {
    let current = password;
    const state = await open(url, { password: () => current, ca });
    const heard: string[] = [];
    await state.subscribe('news', (message) => heard.push(message), ignore);
    await server?.command('ACL', 'SETUSER', 'app', 'resetpass', '>n3w p@ss');
    // Those that are open go on.
    await state.set('v', 'text', 60_000);
    current = 'n3w p@ss';
    for (const type of ['normal', 'pubsub']) await server?.command('CLIENT', 'KILL', 'TYPE', type);
    await until(
      async () =>
        await state.publish('news', 'm').then(
          () => heard.length > 0,
          () => false,
        ),
    );
    expect(await state.get('v')).toBe('text');
    await server?.command('ACL', 'SETUSER', 'app', 'resetpass', `>${password}`);
    await state.close();
  });

  test('an authority that is not trusted, another name, a wrong password and no TLS are refused', async () => {
    const other = readFileSync(certificates.otherCa, 'utf8');
    const byAddress = url.replace('localhost', '127.0.0.1');
    const plain = url.replace('rediss:', 'redis:');
    for (const [address, options] of [
      [url, { password: () => password }],
      [url, { password: () => password, ca: other }],
      [byAddress, { password: () => password, ca }],
      [url, { password: () => 'wrong', ca }],
      [plain, { password: () => password }],
    ] as const) {
      const failure = await failureOf(open(address, options));
      expect(failure.reason).toBe('unavailable');
      expect(failure.message).not.toContain(password);
      expect(failure.message).toContain(
        address === plain ? 'user name and password' : 'its certificate is not trusted',
      );
    }
  });
});
