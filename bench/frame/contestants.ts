import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/services/free-port.ts';
import type { RunningProcess } from '../../test/system/running-system.ts';
import { startProcess } from '../../test/system/running-system.ts';
import type { BenchContext } from './measurement.ts';
import { whenReady } from './processes.ts';

/** A program that passes a chat call on to the instant upstream, and whose cost is measured. */
export interface Contestant {
  readonly name: string;
  /** The address of its chat route. */
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** Further headers that it needs, as lines of a request. */
  readonly headers?: readonly string[];
  /** In the place of a small chat call; FILLER is what makes it as large as is wanted. */
  readonly body?: string;
}

const UPSTREAM = '../../bench/programs/instant-upstream.ts';
const BARE_PROXY = '../../bench/programs/bare-proxy.ts';
/** Far above what a run sends: limits are counted and never refuse. */
const MANY = '10000000';

export async function startUpstream(context: BenchContext): Promise<string> {
  return await startProgram(context, UPSTREAM, {});
}

export async function startBareProxy(context: BenchContext, upstream: string): Promise<Contestant> {
  const running = context.startProcess(BARE_PROXY, { UPSTREAM_URL: upstream });
  await whenReady(running);
  return {
    name: 'a bare proxy on Bun',
    url: `${readyAddress(running)}/chat/completions`,
    key: 'x',
    pid: running.pid,
  };
}

const OURS = {
  servers: { file: 'gateway.ts', name: 'Turnpike on PostgreSQL and Redis' },
  'all services on servers': { file: 'everything.ts', name: 'Turnpike, npm start on PostgreSQL and Redis' },
  embedded: { file: 'everything.ts', name: 'Turnpike, embedded whole' },
} as const;

/** Ours, with everything on: key, scope, allowlist, all limits, the call's row. */
export async function startGateway(
  context: BenchContext,
  upstream: string,
  parts: keyof typeof OURS,
  changes: Record<string, string> = {},
): Promise<Contestant & { environment: Record<string, string> }> {
  const dataDir = parts === 'embedded' ? await context.embeddedFolder() : await context.freshPath();
  mkdirSync(dataDir, { recursive: true });
  const models = join(dataDir, 'models.json');
  const targets = [{ base_url: upstream, model: 'instant', api_key: 'sk-instant', weight: 1 }];
  const anthropic = targets.map((target) => ({ ...target, provider: 'anthropic' }));
  const aliases = { 'svc/chat-default': { targets }, 'svc/chat-premium': { targets: anthropic } };
  writeFileSync(models, JSON.stringify({ aliases }));
  const env: Record<string, string> = {
    DATA_DIR: dataDir,
    MODEL_CONFIG: models,
    IP_REQUESTS_PER_MINUTE: MANY,
    LOG_LEVEL: 'warn',
    ...(parts === 'embedded'
      ? {}
      : {
          DATABASE_URL: changes.DATABASE_URL ?? (await context.emptyDatabase()),
          REDIS_URL: changes.REDIS_URL ?? (await context.emptyRedis()),
        }),
    ...changes,
  };
  const running = context.startProcess(OURS[parts].file, env);
  await whenReady(running);
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  const words = ['mint-key', demo.company_id, 'bench', '--rpm', MANY, '--tpm', MANY, '--in-flight', '10000'];
  const minting = startProcess('turnpike.ts', words, env);
  await minting.exited;
  const key = /tpk_\w+/.exec(minting.output())?.[0];
  if (key === undefined) throw new Error(`no key was minted: ${minting.errors()}`);
  const url = `${readyAddress(running)}/chat/completions`;
  return { name: OURS[parts].name, url, key, pid: running.pid, environment: env };
}

/** Null where the machine has no nginx. */
export async function startNginx(context: BenchContext, upstream: string): Promise<Contestant | null> {
  const program = Bun.which('nginx', { PATH: `${process.env.PATH}:/usr/sbin` });
  if (program === null) return null;
  const folder = await context.freshPath();
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, nginxConfiguration(folder, port, new URL(upstream).host));
  const child = Bun.spawn([program, '-e', join(folder, 'error.log'), '-c', file], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  context.whenEnding(async () => {
    child.kill('SIGTERM');
    await child.exited;
  });
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  await answering(url);
  const [worker] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
  return { name: 'nginx proxy_pass', url, key: 'x', pid: Number(worker) };
}

/** A file of bench/programs that says where it answers. */
export async function startProgram(
  context: BenchContext,
  file: string,
  env: Record<string, string>,
): Promise<string> {
  const running = context.startProcess(file, env);
  await whenReady(running);
  return readyAddress(running);
}

/** Programs of the benchmark say it on standard output, Turnpike on standard error. */
function readyAddress(running: Pick<RunningProcess, 'output' | 'errors'>): string {
  const output = `${running.output()}\n${running.errors()}`;
  const address = /^ready: .*?(http:[^\s,]+)/m.exec(output)?.[1];
  if (address === undefined) throw new Error(`no address in: ${output}`);
  return address;
}

export async function answering(url: string, seconds = 10): Promise<void> {
  for (let tries = 0; tries < seconds * 20; tries += 1) {
    if (
      await fetch(url, { method: 'POST', body: '{}' }).then(
        () => true,
        () => false,
      )
    )
      return;
    await Bun.sleep(50);
  }
  throw new Error(`no response from ${url}`);
}

function nginxConfiguration(folder: string, port: number, upstream: string): string {
  const many = 'keepalive_requests 100000000;';
  return `worker_processes 1; daemon off; pid ${folder}/pid; events { worker_connections 16384; }
http { access_log off; ${many} client_max_body_size 64m;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  upstream instant { server ${upstream}; keepalive 64; ${many} }
  server { listen 127.0.0.1:${port}; location / {
    proxy_pass http://instant; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`;
}
