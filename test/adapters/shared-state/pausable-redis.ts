import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import { until } from '../../doubles/until.ts';
import { freePort } from '../../services/free-port.ts';

export interface PausableRedis {
  readonly url: string;
  readonly port: number;
  /** Runs one command on a connection of its own. */
  command(name: string, ...args: string[]): Promise<unknown>;
  /** The process stops: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** On the port it had before. */
  start(): Promise<void>;
  /** Ends the process, paused or not, and removes its folder. */
  remove(): Promise<void>;
}

/** A run cut short (`--bail`, kill -9) skips `afterAll`, and a paused process hears nothing but this signal. */
const endWithUs = Bun.which('setpriv') ? ['setpriv', '--pdeathsig', 'KILL'] : [];

interface ServerChoices {
  /** Further words of its command line. */
  readonly words?: readonly string[];
  /** A file of settings that it may write to; then it is a Sentinel. */
  readonly sentinel?: string;
  /** Of the default user, also towards its primary. */
  readonly password?: string;
}

/** A Redis that a test may stop, kill and start again. Its program must be on the PATH. */
export async function startPausableRedis({
  words: more = [],
  password,
  sentinel,
}: ServerChoices = {}): Promise<PausableRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-redis-'));
  const port = freePort();
  const url = `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
  const secrets = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
  let server: Bun.Subprocess | null = null;

  async function command(name: string, ...args: string[]): Promise<unknown> {
    const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 1_000 });
    try {
      await client.connect();
      return await client.send(name, args);
    } finally {
      client.close();
    }
  }

  async function start(): Promise<void> {
    const common = `--port ${port} --bind 127.0.0.1 --dir ${folder}`.split(' ');
    const settings = join(folder, 'sentinel.conf');
    if (sentinel !== undefined) writeFileSync(settings, sentinel);
    const words =
      sentinel === undefined
        ? [...common, '--appendonly', 'no', '--save', '', ...secrets, ...more]
        : [settings, '--sentinel', ...common, ...more];
    server = Bun.spawn([...endWithUs, 'redis-server', ...words], {
      cwd: folder,
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await until(() =>
      command('PING').then(
        () => true,
        () => false,
      ),
    );
  }

  async function kill(): Promise<void> {
    server?.kill('SIGKILL');
    await server?.exited;
  }

  await start();
  return {
    url,
    port,
    command,
    pause: () => server?.kill('SIGSTOP'),
    resume: () => server?.kill('SIGCONT'),
    kill,
    start,
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
