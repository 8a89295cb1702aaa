import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { SQL } from 'bun';
import {
  makeServiceFolder,
  onFreePort,
  type PrivateService,
  serviceEnvironment,
  startService,
} from './private-service.ts';
import { boundToRunner, serviceAccount } from './service-account.ts';

/**
 * What is turned off protects data against a crash of the machine, which test data need not survive. Locks,
 * isolation and visibility stay as in production.
 */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  // Test files open pools of their own, and whole systems of several processes run beside each other.
  max_connections: '200',
  timezone: 'UTC',
};

/** As in production: a commit waits for the disk. For benchmarks of what includes that wait. */
export const DURABLE = { fsync: 'on', full_page_writes: 'on' };

/** A PostgreSQL for this run alone, on 127.0.0.1, open to every user of this machine. */
export async function startPrivatePostgres(
  binaries: string,
  folder: string,
  changes: Record<string, string> = {},
): Promise<PrivateService> {
  const account = serviceAccount();
  const home = makeServiceFolder(folder, 'postgresql', account);
  const data = join(home, 'data');
  const [program = '', ...words] = boundToRunner(
    [
      join(binaries, 'initdb'),
      ...['--pgdata', data, '--username', 'postgres', '--auth', 'trust'],
      ...['--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
    ],
    'INT',
    account,
  );
  const initialised = spawnSync(program, words, { cwd: home, env: serviceEnvironment, encoding: 'utf8' });
  if (initialised.status !== 0) {
    throw new Error(`initdb failed:\n${initialised.stdout}${initialised.stderr}`.trimEnd());
  }

  return servePostgres(binaries, { home, data, account }, changes);
}

interface PostgresPlace {
  readonly home: string;
  readonly data: string;
  readonly account: ReturnType<typeof serviceAccount>;
}

function servePostgres(
  binaries: string,
  { home, data, account }: PostgresPlace,
  changes: Record<string, string> = {},
): Promise<PrivateService> {
  return onFreePort((port) => {
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    return startService({
      name: 'postgresql',
      command: [
        join(binaries, 'postgres'),
        ...['-D', data, '-p', `${port}`],
        ...Object.entries({ ...settings, ...changes }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      account,
      folder: home,
      url,
      isReady: () => answers(url),
    });
  });
}

/**
 * A standby of a private PostgreSQL, with all that has been committed so far. It follows the primary while it runs; one
 * that was stopped lacks what is committed meanwhile.
 */
export async function makePrivateStandby(
  binaries: string,
  folder: string,
  primaryUrl: string,
): Promise<{ start(): Promise<PrivateService> }> {
  const account = serviceAccount();
  const home = makeServiceFolder(folder, 'standby', account);
  const data = join(home, 'data');
  const [program = '', ...words] = boundToRunner(
    [
      join(binaries, 'pg_basebackup'),
      '-D',
      data,
      '-d',
      primaryUrl,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
    ],
    'INT',
    account,
  );
  const copied = spawnSync(program, words, { cwd: home, env: serviceEnvironment, encoding: 'utf8' });
  if (copied.status !== 0)
    throw new Error(`pg_basebackup failed:\n${copied.stdout}${copied.stderr}`.trimEnd());
  return { start: () => servePostgres(binaries, { home, data, account }) };
}

async function answers(url: string): Promise<boolean> {
  const sql = new SQL({ url, max: 1, connectionTimeout: 2 });
  try {
    await sql`SELECT 1`;
    return true;
  } finally {
    await sql.close().catch(() => undefined);
  }
}
