import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { until } from '../doubles/until.ts';
import { type FreshDatabase, freshDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';

const missing = givenDatabase() === null || givenRedis() === null;

describe.skipIf(missing)('three processes on PostgreSQL and Redis', () => {
  let database: FreshDatabase;
  let data: Awaited<ReturnType<typeof emptyDataFolder>>;
  let env: Record<string, string>;
  const running = new Map<string, RunningProcess>();

  beforeAll(async () => {
    [database, data] = await Promise.all([freshDatabase(), emptyDataFolder()]);
    env = { DATA_DIR: data.folder, DATABASE_URL: database.url, REDIS_URL: givenRedis() ?? '' };
    // All at once, on an empty database: each migrates, one does it.
    for (const file of ['gateway.ts', 'backend.ts', 'ai-service.ts']) {
      running.set(file, startProcess(file, [], env));
    }
    await Promise.all([...running.values()].map((process) => process.line('ready')));
  });

  afterAll(async () => {
    for (const process of running.values()) process.signal('SIGKILL');
    await Promise.all([...running.values()].map((process) => process.exited));
    await database.drop();
    await data.remove();
  });

  async function urlOf(file: string): Promise<string> {
    const line = await running.get(file)?.line('ready');
    return new URL(/http:\S+?(?=[,\s]|$)/.exec(line ?? '')?.[0] ?? '').origin;
  }

  test('each answers, and sees database and cache', async () => {
    for (const file of ['gateway.ts', 'backend.ts']) {
      const health = await (await fetch(`${await urlOf(file)}/health`)).json();
      expect(health).toMatchObject({ status: 'ok', database: { status: 'up' }, cache: { status: 'up' } });
    }
    const ready = await fetch(`${await urlOf('ai-service.ts')}/health/ready`);
    expect(ready.status).toBe(200);
  });

  test('they made one demo world and share its secrets', async () => {
    const sql = new SQL(database.url);
    const [row] = await sql`select (select count(*)::int from companies) as companies,
      (select count(*)::int from users) as users, (select count(*)::int from api_keys) as keys`;
    expect({ ...row }).toEqual({ companies: 1, users: 2, keys: 2 });
    await sql.close();
    const demo = JSON.parse(readFileSync(join(data.folder, 'demo.json'), 'utf8'));
    const headers = { authorization: `Bearer ${demo.internal_token}` };
    const logs = await fetch(`${await urlOf('ai-service.ts')}/monitoring/app-logs`, { headers });
    expect(logs.status).toBe(200);
  });

  test('P-15 an operator sees each of them, as ready', async () => {
    const demo = JSON.parse(readFileSync(join(data.folder, 'demo.json'), 'utf8'));
    const backend = `${await urlOf('backend.ts')}/graphql`;
    const ask = async (query: string, token?: string) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token ?? ''}` };
      const body = JSON.stringify({ query });
      return (await (await fetch(backend, { method: 'POST', headers, body })).json()).data;
    };
    const { email, password } = demo.super_admin;
    const { login } = await ask(
      `mutation { login(email: "${email}", password: "${password}") { accessToken } }`,
    );
    await until(async () => {
      const { serviceProcesses } = await ask(
        '{ serviceProcesses { services pid isReady } }',
        login.accessToken,
      );
      const ready = (serviceProcesses as { services: string[]; pid: number; isReady: boolean }[])
        .filter(({ isReady }) => isReady)
        .map(({ services, pid }) => `${services} ${pid}`);
      const expected = [...running].map(([file, { pid }]) => `${file.replace('.ts', '')} ${pid}`);
      return ready.toSorted().join() === expected.toSorted().join();
    });
  });

  test('the command line works beside them', async () => {
    const words = ['create-super-admin', 'root@x.example'];
    const turnpike = startProcess('turnpike.ts', words, env);
    expect(await turnpike.exited).toBe(0);
  });

  test('each ends with 0 on SIGTERM, and is not missed', async () => {
    for (const process of running.values()) process.signal('SIGTERM');
    for (const process of running.values()) expect(await process.exited).toBe(0);
    const sql = new SQL(database.url);
    expect((await sql`select id from service_processes`).length).toBe(0);
    await sql.close();
  });
});

describe.skipIf(missing)('several gateway processes on one port', () => {
  test('all answer on it, one that is killed comes back, and none outlives the parent', async () => {
    const [database, data] = await Promise.all([freshDatabase(), emptyDataFolder()]);
    const port = freePort();
    const parent = startProcess('gateway.ts', [], {
      DATA_DIR: data.folder,
      DATABASE_URL: database.url,
      REDIS_URL: givenRedis() ?? '',
      GATEWAY_PROCESSES: '2',
      GATEWAY_PORT: String(port),
      NODE_ENV: 'test',
    });
    await parent.line('ready: 2 gateway processes');
    const children = childrenOf(parent.pid);
    expect(children).toHaveLength(2);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);

    process.kill(children[0] ?? 0, 'SIGKILL');
    await until(() => {
      const pids = childrenOf(parent.pid);
      return pids.length === 2 && !pids.includes(children[0] ?? 0);
    });
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);

    const survivors = childrenOf(parent.pid);
    parent.signal('SIGKILL');
    await parent.exited;
    await until(() => !survivors.some(isAlive));
    await database.drop();
    await data.remove();
  });
});

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
