import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { until } from '../../test/doubles/until.ts';
import { makeServiceFolder, onFreePort, serviceEnvironment } from '../../test/services/private-service.ts';
import { boundToRunner, serviceAccount } from '../../test/services/service-account.ts';

export interface PausablePostgres {
  readonly url: string;
  /** All its processes stand still: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Clients are sent away, everything is written. */
  stop(): Promise<void>;
  /** At once, without writing anything: what a crash of the machine's process leaves. */
  kill(): Promise<void>;
  /** On the port it had before. Resolves when it answers. */
  start(): Promise<void>;
}

/**
 * A PostgreSQL that a case may stop, pause and kill. Unlike the tests' own it waits for the disk at every commit, so
 * that what it acknowledged before it was killed must be there afterwards.
 */
export async function startPausablePostgres(
  binaries: string,
  folder: string,
  settings: Record<string, string> = {},
): Promise<PausablePostgres> {
  const account = serviceAccount();
  const home = makeServiceFolder(folder, 'postgresql', account);
  const data = join(home, 'data');
  const [program = '', ...words] = boundToRunner(
    [
      join(binaries, 'initdb'),
      ...['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8'],
      ...['--locale', 'C', '--no-sync', ...(settings.min_wal_size === undefined ? [] : ['--wal-segsize=1'])],
    ],
    'INT',
    account,
  );
  const made = spawnSync(program, words, { cwd: home, env: serviceEnvironment, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed:\n${made.stdout}${made.stderr}`.trimEnd());

  const options = {
    ...{
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      timezone: 'UTC',
    },
    ...settings,
  };
  let child: ChildProcess | null = null;
  let url = '';

  async function startOn(port: number): Promise<void> {
    const log = openSync(join(folder, 'postgresql.log'), 'a');
    const command = [
      ...[join(binaries, 'postgres'), '-D', data, '-p', `${port}`],
      ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
    const [first = '', ...rest] = boundToRunner(command, 'INT', account);
    child = spawn(first, rest, { cwd: home, env: serviceEnvironment, stdio: ['ignore', log, log] });
    closeSync(log);
    url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await until(() => answers(url), 30_000);
  }
  const all = () => {
    const pid = child?.pid ?? 0;
    return [pid, ...childrenOf(pid)];
  };
  async function end(signal: NodeJS.Signals): Promise<void> {
    const pids = all();
    child?.kill(signal);
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}/exe`) || !isAlive(pid)), 30_000);
  }

  await onFreePort(startOn);
  return {
    url,
    pause: () => all().forEach((pid) => void process.kill(pid, 'SIGSTOP')),
    resume: () => all().forEach((pid) => void process.kill(pid, 'SIGCONT')),
    stop: () => end('SIGINT'),
    kill: async () => {
      const pids = all();
      for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
      await until(() => !pids.some(isAlive), 30_000);
    },
    async start() {
      // A full disk ends it or does not: then there is nothing to start.
      if (child?.exitCode === null && child.signalCode === null) return;
      await startOn(Number(new URL(url).port));
    },
  };
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** A process that has ended but was not waited for (a zombie) is not alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
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
