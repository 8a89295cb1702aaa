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

/** An aborted run (`--bail`, kill -9) skips `afterAll`, and a paused process receives no other signal than this one. */
const endWithUs = Bun.which('setpriv') ? ['setpriv', '--pdeathsig', 'KILL'] : [];

interface ServerChoices {
  /** Further words of its command line. */
  readonly words?: readonly string[];
  /** A file of settings that it may write to; then it is a Sentinel. */
  readonly sentinel?: string;
  /** Of the default user, also towards its primary. */
  readonly password?: string;
}

/** A port may be taken between the look and the start; a node of a cluster has a second one, 10,000 above its own. */
const MOST_STARTS = 10;

/** A Redis that a test may stop, kill and start again. Its program must be on the PATH. */
export async function startPausableRedis(choices: ServerChoices = {}): Promise<PausableRedis> {
  for (let tries = 1; ; tries += 1) {
    const server = createServer(freePort(), choices);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.remove();
      if (tries === MOST_STARTS) throw error;
    }
  }
}

function createServer(port: number, { words: more = [], password, sentinel }: ServerChoices): PausableRedis {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-redis-'));
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
    const started = Bun.spawn([...endWithUs, 'redis-server', ...words], {
      cwd: folder,
      stdout: 'ignore',
      stderr: 'ignore',
    });
    server = started;
    const answers = () =>
      command('PING').then(
        () => true,
        () => false,
      );
    await until(async () => started.exitCode !== null || (await answers()));
    if (started.exitCode !== null) throw new Error(`Redis on port ${port} ended with ${started.exitCode}`);
  }

  async function kill(): Promise<void> {
    server?.kill('SIGKILL');
    await server?.exited;
  }

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
