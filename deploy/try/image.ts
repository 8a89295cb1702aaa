import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findOrInstall,
  type Program,
  postgresProgram,
  redisProgram,
} from '../../test/services/find-or-install.ts';
import { freePort } from '../../test/services/free-port.ts';
import { startPrivatePostgres } from '../../test/services/private-postgres.ts';
import { startPrivateRedis } from '../../test/services/private-redis.ts';

const program = (name: string): Program => ({
  ...{ name, debianPackage: name, variable: 'PATH', kind: 'program' },
  find: () => Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin` }),
});
const buildahProgram = program('buildah');
const debootstrapProgram = program('debootstrap');

const BASE = 'localhost/turnpike-try-base';
const IMAGE = 'localhost/turnpike-try';
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const START_MS = 120_000;

/**
 * Builds the image of `Dockerfile` with buildah, which needs no daemon, and starts it as its user 10001 with its own command,
 * in production, on a private PostgreSQL and Redis. Every step is the Dockerfile's; only the base images are made here from
 * Debian's packages, by debootstrap, with the Node of this machine, so that no registry is needed. Root only: it is for a
 * machine of yours or of CI.
 */
export async function tryImage(root: string): Promise<number> {
  const programs = [postgresProgram, redisProgram, buildahProgram, debootstrapProgram];
  const places = await findOrInstall(programs);
  const [postgresFolder, redisPath] = [places.get(postgresProgram), places.get(redisProgram)];
  if (postgresFolder === undefined || redisPath === undefined || places.size < programs.length) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-image-'));
  chmodSync(folder, 0o711);
  const buildah = buildahIn(folder);
  try {
    await buildImage(root, folder, buildah);
    const [postgres, redis] = await Promise.all([
      startPrivatePostgres(postgresFolder, folder),
      startPrivateRedis(redisPath, folder),
    ]);
    try {
      await startImage(buildah, { DATABASE_URL: postgres.url, REDIS_URL: redis.url });
    } finally {
      await Promise.all([postgres.stop(), redis.stop()]);
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Buildah = (words: readonly string[]) => Promise<string>;

/** Storage and configuration of this run alone. */
function buildahIn(folder: string): Buildah & { spawn(words: readonly string[]): Bun.Subprocess } {
  const command = (words: readonly string[]) => [
    ...[
      'buildah',
      '--root',
      join(folder, 'storage'),
      '--runroot',
      join(folder, 'run'),
      '--storage-driver',
      'vfs',
    ],
    ...words,
  ];
  const run = async (words: readonly string[]) => {
    const child = Bun.spawn(command(words), { stdout: 'pipe', stderr: 'pipe' });
    const [out, errors, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (exitCode !== 0)
      throw new Error(`buildah ${words.join(' ')}: ${errors.slice(-3_000)}${out.slice(-1_000)}`);
    return out.trim();
  };
  const spawn = (words: readonly string[]) =>
    Bun.spawn(command(words), { stdout: 'inherit', stderr: 'inherit' });
  return Object.assign(run, { spawn });
}

async function buildImage(root: string, folder: string, buildah: Buildah): Promise<void> {
  const base = join(folder, 'base');
  await done(['debootstrap', '--variant=minbase', 'bookworm', base, 'http://deb.debian.org/debian']);
  const made = await buildah(['from', 'scratch']);
  await buildah(['add', made, base, '/']);
  // The first stage runs npm.
  const npm = await done(['npm', 'root', '--global']);
  const node = Bun.which('node') ?? 'node';
  await buildah(['add', made, node, '/usr/local/bin/node']);
  await buildah(['add', made, join(npm, 'npm'), '/usr/local/lib/node_modules/npm']);
  // The authorities of this machine, for a network that ends TLS itself.
  await buildah(['add', made, AUTHORITIES, AUTHORITIES]);
  await buildah(['config', '--env', `NODE_EXTRA_CA_CERTS=${AUTHORITIES}`, made]);
  await buildah([
    'config',
    '--env',
    'PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin',
    made,
  ]);
  await buildah([
    ...['run', '--isolation', 'chroot', made, '--'],
    ...['ln', '-s', '/usr/local/lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm'],
  ]);
  await buildah(['commit', '--rm', made, BASE]);
  rmSync(base, { recursive: true, force: true });
  console.log('the base: made by debootstrap');
  const file = join(folder, 'Dockerfile');
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
  writeFileSync(file, text.replace(/^FROM \S+/gm, `FROM ${BASE}`));
  const context = join(folder, 'context');
  await done(['git', 'clone', '--quiet', root, context]);
  const build = ['build', '--isolation', 'chroot', '--format', 'docker', '--layers=false'];
  await buildah([...build, '--file', file, '--tag', IMAGE, context]);
  console.log('the image: built by the steps of the Dockerfile');
}

async function startImage(
  buildah: ReturnType<typeof buildahIn>,
  stores: Readonly<Record<string, string>>,
): Promise<void> {
  const container = await buildah(['from', IMAGE]);
  const ports = { GATEWAY_PORT: freePort(), BACKEND_PORT: freePort(), AI_PORT: freePort() };
  const secret = () => crypto.getRandomValues(new Uint8Array(36)).toBase64();
  const secrets = ['JWT_SECRET', 'INTERNAL_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET'].map((name) => [
    name,
    secret(),
  ]);
  const env = { ...stores, ...ports, HOST: '127.0.0.1', ...Object.fromEntries(secrets) };
  const words = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const command = ['node_modules/.bin/bun', 'src/start/everything.ts'];
  const child = buildah.spawn(['run', '--isolation', 'chroot', ...words, container, '--', ...command]);
  try {
    for (const port of Object.values(ports)) await answers(`http://127.0.0.1:${port}/health`, child);
    console.log('the image: started in production by its own command, all three services answer');
    const identity = await buildah(['run', '--isolation', 'chroot', container, '--', 'id', '-u']);
    if (identity !== '10001') throw new Error(`the image runs as user ${identity}`);
    console.log('the image: its user is 10001');
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
}

async function answers(url: string, child: Bun.Subprocess): Promise<void> {
  const end = performance.now() + START_MS;
  while ((await fetch(url).catch(() => null))?.ok !== true) {
    if (child.exitCode !== null) throw new Error(`the container ended with ${child.exitCode}`);
    if (performance.now() > end) throw new Error(`${url} does not answer`);
    await Bun.sleep(200);
  }
}

async function done(words: readonly string[]): Promise<string> {
  const child = Bun.spawn([...words], { stdout: 'pipe', stderr: 'pipe' });
  const [out, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${words.join(' ')}: ${errors.slice(-2_000)}${out.slice(-1_000)}`);
  return out.trim();
}
