import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'graphql-ws';
import { until } from '../doubles/until.ts';
import { type FreshDatabase, freshDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { type DemoFile, emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';

const missing = givenDatabase() === null || givenRedis() === null;

interface Line {
  readonly message: string;
  readonly context: { readonly process?: number };
}

describe.skipIf(missing)('the live log of several processes', () => {
  let database: FreshDatabase;
  let data: Awaited<ReturnType<typeof emptyDataFolder>>;
  let env: Record<string, string>;
  const running: RunningProcess[] = [];

  beforeAll(async () => {
    [database, data] = await Promise.all([freshDatabase(), emptyDataFolder()]);
    env = { DATA_DIR: data.folder, DATABASE_URL: database.url, REDIS_URL: givenRedis() ?? '' };
  });
  afterAll(async () => {
    for (const process of running) process.signal('SIGKILL');
    await Promise.all(running.map(({ exited }) => exited));
    await database.drop();
    await data.remove();
  });

  async function start(file: string): Promise<RunningProcess> {
    const process = startProcess(file, [], env);
    running.push(process);
    await process.line('ready');
    return process;
  }

  test('P-13 a watcher at one backend sees what a gateway and another backend log, and is told when its own goes', async () => {
    const backend = await start('backend.ts');
    const address = new URL(/http:\S+?(?=[,\s]|$)/.exec(await backend.line('ready'))?.[0] ?? '').origin;
    const demo: DemoFile = JSON.parse(readFileSync(join(data.folder, 'demo.json'), 'utf8'));
    const query =
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }';
    const answer = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: demo.super_admin }),
    });
    const { data: session } = (await answer.json()) as { data: { login: { accessToken: string } } };

    const lines: Line[] = [];
    const closed = Promise.withResolvers<number>();
    const client = createClient({
      url: `${address.replace('http', 'ws')}/graphql`,
      lazy: false,
      retryAttempts: 0,
      connectionParams: { Authorization: `Bearer ${session.login.accessToken}` },
      on: { closed: (event) => closed.resolve((event as CloseEvent).code) },
      onNonLazyError: () => {},
    });
    client.subscribe<{ logStream: Line }>(
      { query: 'subscription { logStream { message context } }' },
      {
        next: ({ data: line }) => void (line != null && lines.push(line.logStream)),
        error() {},
        complete() {},
      },
    );
    const others = [await start('gateway.ts'), await start('backend.ts')];
    for (const other of others) {
      other.signal('SIGTERM');
      expect(await other.exited).toBe(0);
    }
    await until(() =>
      others.every(({ pid }) =>
        lines.some(({ message, context }) => message === 'stopping' && context.process === pid),
      ),
    );
    backend.signal('SIGTERM');
    expect(await closed.promise).toBe(1001);
    expect(await backend.exited).toBe(0);
  }, 120_000);
});
