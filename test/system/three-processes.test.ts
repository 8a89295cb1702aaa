import { beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { until } from '../doubles/until.ts';
import { describeServers } from '../setup/use-redis.ts';
import { type StartedProcess, useProcesses } from '../setup/use-system.ts';
import { startProcess } from './running-system.ts';

describeServers('three processes on PostgreSQL and Redis', () => {
  const processes = useProcesses('empty');
  const running = new Map<string, StartedProcess>();

  beforeAll(async () => {
    // All at once, on an empty database: each migrates, one does it.
    const files = ['gateway.ts', 'backend.ts', 'ai-service.ts'];
    const started = await Promise.all(files.map((file) => processes.start(file)));
    for (const [at, file] of files.entries()) running.set(file, started[at] as StartedProcess);
  });

  const urlOf = (file: string) => running.get(file)?.origin ?? '';
  const databaseUrl = () => processes.environment.DATABASE_URL ?? '';

  test('each answers, and reports database and cache', async () => {
    for (const file of ['gateway.ts', 'backend.ts']) {
      const health = await (await fetch(`${urlOf(file)}/health`)).json();
      expect(health).toMatchObject({ status: 'ok', database: { status: 'up' }, cache: { status: 'up' } });
    }
    const ready = await fetch(`${urlOf('ai-service.ts')}/health/ready`);
    expect(ready.status).toBe(200);
  });

  test('they created one demo world and share its secrets', async () => {
    const sql = new SQL(databaseUrl());
    const [row] = await sql`select (select count(*)::int from companies) as companies,
      (select count(*)::int from users) as users, (select count(*)::int from api_keys) as keys`;
    expect({ ...row }).toEqual({ companies: 1, users: 2, keys: 2 });
    await sql.close();
    const { demo } = processes;
    const headers = { authorization: `Bearer ${demo.internal_token}` };
    const logs = await fetch(`${urlOf('ai-service.ts')}/monitoring/app-logs`, { headers });
    expect(logs.status).toBe(200);
  });

  test('P-15 an operator sees each of them, as ready', async () => {
    const { demo } = processes;
    const backend = `${urlOf('backend.ts')}/graphql`;
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

  test('the command line works next to them', async () => {
    const words = ['create-super-admin', 'root@x.example'];
    const turnpike = startProcess('turnpike.ts', words, processes.environment);
    expect(await turnpike.exited).toBe(0);
  });

  test('each exits with 0 on SIGTERM, and its row is removed', async () => {
    for (const process of running.values()) process.signal('SIGTERM');
    for (const process of running.values()) expect(await process.exited).toBe(0);
    const sql = new SQL(databaseUrl());
    expect((await sql`select id from service_processes`).length).toBe(0);
    await sql.close();
  });
});
