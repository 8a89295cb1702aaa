/**
 * What `systemctl` is in the try of docs/deploying.md: it starts what the unit files say, as they were copied, and stops it
 * with their signals. `FOLDER NGINX VERB UNIT …`. Users, sandboxing and restarts are systemd's alone and are not tried.
 */
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', nginx = '', ...words] = process.argv.slice(2);
const [verb = '', ...given] = words.filter((word) => !word.startsWith('--'));
const units = given.filter((word) => word !== '');
const START_MS = 90_000;
const STOP_MS = 60_000;

switch (verb) {
  case 'daemon-reload':
    break;
  case 'enable':
  case 'start':
    await Promise.all(units.map(start));
    break;
  case 'stop':
    await Promise.all(units.map(stop));
    break;
  case 'restart':
    for (const unit of units) {
      await stop(unit);
      await start(unit);
    }
    break;
  case 'reload':
    for (const unit of units) await reload(unit);
    break;
  case 'place':
    placeNginx();
    break;
  default:
    throw new Error(`systemctl ${verb} is not known here`);
}

/** The unit file with its drop-ins, as systemd joins them. */
function unitLines(unit: string): string[] {
  const [template = '', instance = ''] = unit.split('@');
  const base = join(folder, 'etc/systemd/system');
  const texts = [readFileSync(join(base, `${template}@.service`), 'utf8')];
  const dropIns = join(base, `${unit}.service.d`);
  if (existsSync(dropIns)) {
    for (const file of readdirSync(dropIns)) texts.push(readFileSync(join(dropIns, file), 'utf8'));
  }
  return texts
    .join('\n')
    .replaceAll('%i', instance)
    .replaceAll(/(^|[\s=])(\/(?:etc|opt|var)\/)/gm, `$1${folder}$2`)
    .split('\n');
}

function valuesOf(lines: readonly string[], name: string): string[] {
  return lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
}

function pidFile(unit: string): string {
  return join(folder, 'run', `${unit}.pid`);
}

async function start(unit: string): Promise<void> {
  if (unit === 'nginx') return await reload(unit);
  const lines = unitLines(unit);
  const pairs = [
    ...valuesOf(lines, 'Environment'),
    ...valuesOf(lines, 'EnvironmentFile').flatMap((path) => readFileSync(path, 'utf8').split('\n')),
  ].filter((line) => /^[A-Z_]+=./.test(line));
  const env = Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  for (const state of valuesOf(lines, 'StateDirectory'))
    mkdirSync(join(folder, 'var/lib', state), { recursive: true });
  const log = openSync(join(folder, 'run', `${unit}.log`), 'a');
  const [command = ''] = valuesOf(lines, 'ExecStart');
  const child = Bun.spawn(command.split(' '), {
    cwd: valuesOf(lines, 'WorkingDirectory')[0] ?? folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', log, log],
  });
  child.unref();
  writeFileSync(pidFile(unit), String(child.pid));
  const port = { gateway: env.GATEWAY_PORT, backend: env.BACKEND_PORT, 'ai-service': env.AI_PORT }[
    unit.split('@')[1] ?? ''
  ];
  await until(START_MS, `${unit} does not answer`, async () => {
    if (!isAlive(child.pid))
      throw new Error(
        `${unit} has ended: ${readFileSync(join(folder, 'run', `${unit}.log`), 'utf8').slice(-2_000)}`,
      );
    return (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok === true;
  });
}

async function stop(unit: string): Promise<void> {
  const path = unit === 'nginx' ? join(folder, 'run/nginx.pid') : pidFile(unit);
  if (!existsSync(path)) return;
  const pid = Number(readFileSync(path, 'utf8'));
  if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  await until(STOP_MS, `${unit} did not stop`, async () => !isAlive(pid));
  rmSync(path, { force: true });
}

async function reload(unit: string): Promise<void> {
  if (unit === 'nginx') {
    placeNginx();
    const main = join(folder, 'etc/nginx/nginx.conf');
    // A test of the configuration leaves an empty file.
    const pidPath = join(folder, 'run/nginx.pid');
    const isRunning = existsSync(pidPath) && isAlive(Number(readFileSync(pidPath, 'utf8') || '-1'));
    const done = Bun.spawnSync([nginx, '-c', main, ...(isRunning ? ['-s', 'reload'] : [])]);
    if (done.exitCode !== 0) throw new Error(String(done.stderr));
    return;
  }
  const [command = ''] = valuesOf(unitLines(unit), 'ExecReload');
  const log = join(folder, 'run', `${unit}.log`);
  const before = readFileSync(log, 'utf8').length;
  const pid = readFileSync(pidFile(unit), 'utf8');
  const done = Bun.spawnSync(command.replace('$MAINPID', pid).split(' '));
  if (done.exitCode !== 0) throw new Error(String(done.stderr));
  await until(START_MS, `${unit} was not reloaded`, async () =>
    /processes are replaced(?!,)/.test(readFileSync(log, 'utf8').slice(before)),
  );
}

/** The sample as it was copied, on the ports of this run: two names on one port need a resolver for them. */
function placeNginx(): void {
  const path = join(folder, 'etc/nginx/conf.d/turnpike.conf');
  const text = readFileSync(path, 'utf8');
  if (!text.includes('listen 443')) return;
  const env = readFileSync(join(folder, 'etc/turnpike/turnpike.env'), 'utf8');
  const settingOf = (name: string) => env.match(new RegExp(`^${name}=(.*)$`, 'm'))?.[1] ?? '';
  let at = 0;
  const ports = [new URL(settingOf('GATEWAY_URL')).port, new URL(settingOf('CONSOLE_URL')).port];
  writeFileSync(
    path,
    text
      .replaceAll('listen 443', () => `listen 127.0.0.1:${ports[at++]}`)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${settingOf('GATEWAY_PORT')}`)
      .replaceAll('127.0.0.1:8081', `127.0.0.1:${settingOf('BACKEND_PORT')}`)
      .replaceAll(' /etc/', ` ${folder}/etc/`),
  );
}

function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    // One that has ended waits for its parent, which is gone.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(withinMs: number, problem: string, isDone: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await isDone())) {
    if (performance.now() > end) throw new Error(problem);
    await Bun.sleep(100);
  }
}
