import { mkdtempSync, rmSync } from 'node:fs';
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

/** A Redis that a test may stop, kill and start again. Its program must be on the PATH. */
export async function startPausableRedis(): Promise<PausableRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-redis-'));
  const port = freePort();
  const url = `redis://127.0.0.1:${port}`;
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
    const words = `--port ${port} --bind 127.0.0.1 --dir ${folder} --appendonly no --save`.split(' ');
    server = Bun.spawn([...endWithUs, 'redis-server', ...words, ''], {
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
