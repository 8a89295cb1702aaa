import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  findOrInstall,
  type Program,
  postgresProgram,
  redisProgram,
} from '../../test/services/find-or-install.ts';
import { freePort } from '../../test/services/free-port.ts';
import { startPrivatePostgres } from '../../test/services/private-postgres.ts';
import { startPrivateRedis } from '../../test/services/private-redis.ts';
import { startProvider } from './provider.ts';

const nginxProgram: Program = {
  ...{ name: 'nginx', debianPackage: 'nginx-light', variable: 'PATH', kind: 'program' },
  find: () => Bun.which('nginx') ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : null),
};

/** A folder with what the document expects of a host, and one shell in which its commands are typed. */
export interface TriedHost {
  readonly folder: string;
  readonly ports: Readonly<Record<'gateway' | 'backend' | 'ai' | 'gatewayTls' | 'consoleTls', number>>;
  readonly certificate: string;
  /** The shell keeps its variables and functions from one block to the next. */
  type(block: string): Promise<{ readonly exitCode: number; readonly output: string }>;
  /** The key of the first call, once there is one. */
  key(): string | null;
  logs(): string;
  close(): Promise<void>;
}

const NAMES = ['gateway.example.org', 'console.example.org'] as const;

export async function openHost(root: string, folder: string): Promise<TriedHost> {
  const places = await findOrInstall([postgresProgram, redisProgram, nginxProgram]);
  const [postgresFolder, redisPath, nginx] = [postgresProgram, redisProgram, nginxProgram].map((one) =>
    places.get(one),
  );
  if (postgresFolder === undefined || redisPath === undefined || nginx === undefined) {
    throw new Error('PostgreSQL, Redis and nginx are needed, and are missing on this machine');
  }
  chmodSync(folder, 0o711);
  const [postgres, redis] = await Promise.all([
    startPrivatePostgres(postgresFolder, folder),
    startPrivateRedis(redisPath, folder),
  ]);
  const provider = startProvider();
  const ports = {
    gateway: freePort(),
    backend: freePort(),
    ai: freePort(),
    gatewayTls: freePort(),
    consoleTls: freePort(),
  };
  const stores = { postgres: new URL(postgres.url), redis: new URL(redis.url) };
  const place = placed({
    folder,
    ports,
    stores,
    providerUrl: provider.url,
    source: join(folder, 'source.git'),
  });
  prepareFolders(folder);
  const certificate = makeCertificate(folder);
  await prepareSource(root, folder, { ...ports, redisPort: stores.redis.port });
  prepareTools(folder, nginx);
  const shell = openShell(folder, { postgres: stores.postgres, postgresFolder, certificate });
  return {
    ...{ folder, ports, certificate },
    type: (block) => shell.type(place(block)),
    key: () => {
      const path = join(folder, 'key');
      return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
    },
    logs: () => Bun.spawnSync(['bash', '-c', `tail -n 5 ${folder}/run/*.log 2>/dev/null`]).stdout.toString(),
    async close() {
      await shell.type('systemctl stop nginx turnpike@gateway turnpike@backend turnpike@ai-service');
      shell.close();
      provider.close();
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}

interface Places {
  readonly folder: string;
  readonly ports: TriedHost['ports'];
  readonly stores: { readonly postgres: URL; readonly redis: URL };
  readonly providerUrl: string;
  readonly source: string;
}

/** The paths, ports and names of this run in the place of those of the document. */
function placed({ folder, ports, stores, providerUrl, source }: Places): (text: string) => string {
  return (text) =>
    text
      .replaceAll('https://git.example.org/turnpike.git', source)
      .replaceAll('https://gateway.example.org', `https://localhost:${ports.gatewayTls}`)
      .replaceAll('https://console.example.org', `https://localhost:${ports.consoleTls}`)
      .replaceAll('127.0.0.1:5432', stores.postgres.host)
      .replaceAll('127.0.0.1:6379', stores.redis.host)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${ports.gateway}`)
      .replaceAll('127.0.0.1:8081', `127.0.0.1:${ports.backend}`)
      .replaceAll('127.0.0.1:8082', `127.0.0.1:${ports.ai}`)
      .replaceAll('8080 8081 8082', `${ports.gateway} ${ports.backend} ${ports.ai}`)
      .replaceAll('--provider openai', `--provider openai --url ${providerUrl}`)
      .replace(/(^|[\s"'=([<])(\/(?:etc|opt|var)\/)/gm, `$1${folder}$2`);
}

function prepareFolders(folder: string): void {
  const folders = ['etc/systemd/system', 'etc/nginx/conf.d', 'etc/letsencrypt', 'opt', 'run', 'bin', 'temp'];
  for (const one of [...folders, 'var/lib/turnpike', 'var/backups'])
    mkdirSync(join(folder, one), { recursive: true });
}

function makeCertificate(folder: string): string {
  for (const name of NAMES) {
    const live = join(folder, 'etc/letsencrypt/live', name);
    mkdirSync(live, { recursive: true });
    const words = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ];
    const made = Bun.spawnSync([
      ...['openssl', ...words, '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name},DNS:localhost`],
      ...['-keyout', join(live, 'privkey.pem'), '-out', join(live, 'fullchain.pem')],
    ]);
    if (made.exitCode !== 0) throw new Error(`openssl failed: ${made.stderr}`);
  }
  const all = join(folder, 'authorities.pem');
  const texts = NAMES.map((name) =>
    readFileSync(join(folder, 'etc/letsencrypt/live', name, 'fullchain.pem'), 'utf8'),
  );
  writeFileSync(all, texts.join(''));
  return all;
}

/** The repository with changes that are not committed yet, with the ports of this run among the settings, and a version after it. */
async function prepareSource(
  root: string,
  folder: string,
  ports: TriedHost['ports'] & { readonly redisPort: string },
): Promise<void> {
  const work = join(folder, 'source');
  const git = (...words: string[]) => {
    const identity = ['-c', 'user.name=operator', '-c', 'user.email=operator@example.org'];
    const done = Bun.spawnSync(['git', ...identity, ...words], { stderr: 'pipe' });
    if (done.exitCode !== 0) throw new Error(`git ${words.join(' ')}: ${done.stderr}`);
  };
  git('clone', '--quiet', root, work);
  const changes = Bun.spawnSync(['git', '-C', root, 'diff', 'HEAD', '--binary']).stdout;
  if (changes.length > 0) Bun.spawnSync(['git', '-C', work, 'apply'], { stdin: changes });
  const example = join(work, 'deploy/systemd/turnpike.env.example');
  const more = [
    `REDIS_URL=redis://127.0.0.1:${ports.redisPort}`,
    `GATEWAY_PORT=${ports.gateway}`,
    `BACKEND_PORT=${ports.backend}`,
    `AI_PORT=${ports.ai}`,
    // The stand-in for a provider is on this machine.
    'UPSTREAM_PRIVATE_NETWORKS=127.0.0.0/8',
    `GATEWAY_URL=https://localhost:${ports.gatewayTls}`,
    `CONSOLE_URL=https://localhost:${ports.consoleTls}`,
  ];
  const settings = readFileSync(example, 'utf8').replace(/^(?:REDIS|GATEWAY|CONSOLE)_URL=.*\n/gm, '');
  writeFileSync(example, `${settings}${more.join('\n')}\n`);
  git('-C', work, 'commit', '--quiet', '--all', '--message', 'the settings of this run');
  const manifest = join(work, 'package.json');
  const next = readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, '"version": "0.1.1"');
  git('-C', work, 'branch', 'current');
  writeFileSync(manifest, next);
  git('-C', work, 'commit', '--quiet', '--all', '--message', 'the next version');
  git('-C', work, 'tag', 'v0.1.1');
  git('-C', work, 'checkout', '--quiet', 'current');
  git('clone', '--quiet', '--bare', work, join(folder, 'source.git'));
}

/** What stands between the document and this machine: no user is made, no service manager and no port below 1024 used. */
function prepareTools(folder: string, nginx: string): void {
  const write = (name: string, text: string) => {
    const path = join(folder, 'bin', name);
    writeFileSync(path, `#!/bin/bash\nset -euo pipefail\n${text}\n`);
    chmodSync(path, 0o755);
  };
  write('useradd', 'exit 0');
  write('sudo', '[ "$1" = -u ] && shift 2\nexec "$@"');
  const main = join(folder, 'etc/nginx/nginx.conf');
  const temp = (kind: string) => `${kind}_temp_path ${folder}/temp/${kind};`;
  writeFileSync(
    main,
    `daemon on; pid ${folder}/run/nginx.pid; error_log ${folder}/run/nginx.log; worker_processes 1;
events { worker_connections 1024; }
http { access_log off; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(temp).join(' ')}
include ${folder}/etc/nginx/conf.d/*.conf; }\n`,
  );
  const program = join(dirname(import.meta.path), 'systemctl.ts');
  write('systemctl', `exec ${process.execPath} ${program} ${folder} ${nginx} "$@"`);
  write(
    'nginx',
    `${process.execPath} ${program} ${folder} ${nginx} place nginx\nexec ${nginx} -c ${main} "$@"`,
  );
}

function openShell(
  folder: string,
  { postgres, postgresFolder, certificate }: { postgres: URL; postgresFolder: string; certificate: string },
) {
  const env = {
    ...{
      HOME: folder,
      LANG: 'C.UTF-8',
      npm_config_cache: join(folder, 'npm'),
      npm_config_update_notifier: 'false',
    },
    PATH: [join(folder, 'bin'), postgresFolder, process.env.PATH].join(':'),
    ...{ PGHOST: postgres.hostname, PGPORT: postgres.port, PGUSER: 'postgres' },
    ...{ CURL_CA_BUNDLE: certificate, NODE_EXTRA_CA_CERTS: certificate },
  };
  const state = join(folder, 'shell-state');
  writeFileSync(state, '');
  return {
    async type(block: string) {
      // Variables and functions go from block to block through a file, so that each has its own exit code.
      const script = `set -euo pipefail; . ${state}; ${block}\n{ declare -p | grep -E '^declare -- (password|company|key|url|token)='; declare -f turnpike; } > ${state}.next || true
mv ${state}.next ${state}; [ -n "\${key:-}" ] && printf %s "$key" > ${folder}/key || true`;
      const child = Bun.spawn(['bash', '-c', script], { cwd: folder, env, stdout: 'pipe', stderr: 'pipe' });
      const [out, errors, exitCode] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      return { exitCode, output: `${out}${errors}` };
    },
    close() {},
  };
}
