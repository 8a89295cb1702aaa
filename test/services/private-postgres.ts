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

/** A PostgreSQL of this run alone, on 127.0.0.1, open to whoever is on this machine. */
export async function startPrivatePostgres(binaries: string, folder: string): Promise<PrivateService> {
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

  return onFreePort((port) => {
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    return startService({
      name: 'postgresql',
      command: [
        join(binaries, 'postgres'),
        ...['-D', data, '-p', `${port}`],
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      account,
      folder: home,
      url,
      isReady: () => answers(url),
    });
  });
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
