import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoFile } from '../../test/system/running-system.ts';
import type { BenchContext } from './measurement.ts';
import { whenReady } from './processes.ts';

export interface StartedBackend {
  readonly pid: number;
  readonly url: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly companyId: string;
  /** Access tokens, good for a quarter of an hour. */
  readonly superAdmin: string;
  readonly companyAdmin: string;
}

/** The backend as its own process on this run's PostgreSQL and Redis, and two people logged in. */
export async function startBackendAlone(context: BenchContext): Promise<StartedBackend> {
  const [databaseUrl, redisUrl, folder] = [
    await context.emptyDatabase(),
    await context.emptyRedis(),
    await context.freshPath(),
  ];
  const env = { DATA_DIR: folder, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const backend = context.startProcess('backend.ts', env);
  await whenReady(backend);
  const url = new URL(/http:\S+?(?=[,\s]|$)/.exec(await backend.line('ready'))?.[0] ?? '').origin;
  const demo: DemoFile = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  return {
    pid: backend.pid,
    url,
    databaseUrl,
    redisUrl,
    companyId: demo.company_id,
    superAdmin: await logIn(url, demo.super_admin),
    companyAdmin: await logIn(url, demo.company_admin),
  };
}

async function logIn(url: string, variables: DemoFile['super_admin']): Promise<string> {
  const query =
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }';
  const answer = await askBackend<{ login: { accessToken: string } }>(url, null, query, variables);
  return answer.login.accessToken;
}

export async function askBackend<Data>(
  url: string,
  token: string | null,
  query: string,
  variables: object = {},
): Promise<Data> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: unknown };
  if (errors !== undefined || data === undefined) throw new Error(JSON.stringify(errors));
  return data;
}
