import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installDebianPackages } from './debian-install.ts';

/** SQL in this repository keeps to what this version can. */
const oldestPostgres = 15;
const debianPostgres = '/usr/lib/postgresql';

export interface Program {
  readonly name: string;
  readonly debianPackage: string;
  /** Names one instead: a server's address, or a program. */
  readonly variable: string;
  readonly kind: 'server' | 'program';
  /** Where it is on this machine, or null. */
  find(): string | null;
}

/** Found as the folder of its programs: `initdb` and `postgres` must be of one version. */
export const postgresProgram: Program = {
  name: `PostgreSQL ${oldestPostgres} or newer`,
  debianPackage: 'postgresql',
  variable: 'TEST_DATABASE_URL',
  kind: 'server',
  find: () => postgresOnPath() ?? newestPostgres(debianPostgres),
};

/** Found as the program. */
export const redisProgram: Program = {
  name: 'Redis',
  debianPackage: 'redis-server',
  variable: 'TEST_REDIS_URL',
  kind: 'server',
  find: () => Bun.which('redis-server'),
};

/** Found as the program: the console is tested in a real browser. */
export const chromiumProgram: Program = {
  name: 'Chromium',
  debianPackage: 'chromium',
  variable: 'TEST_CHROMIUM',
  kind: 'program',
  find: () => Bun.which('chromium') ?? Bun.which('chromium-browser'),
};

/** The paths of the servers, after an installation where one is needed and allowed. Reports what it could not get. */
export async function findOrInstall(programs: readonly Program[]): Promise<Map<Program, string>> {
  const missing = programs.filter((one) => one.find() === null);
  if (missing.length > 0 && mayInstall()) {
    const packages = missing.map((one) => one.debianPackage);
    console.log(
      `installing ${packages.join(' and ')} with apt-get, because tests run on the real thing and ` +
        `${missing.map((one) => `${one.variable} is not set`).join(', ')}`,
    );
    const failure = await installDebianPackages(packages);
    if (failure !== null) console.error(`apt-get failed:\n${failure}`);
  }
  const found = new Map<Program, string>();
  for (const one of programs) {
    const place = one.find();
    if (place !== null) found.set(one, place);
    else console.error(missingMessage(one));
  }
  return found;
}

function mayInstall(): boolean {
  return process.getuid?.() === 0 && Bun.which('apt-get') !== null;
}

function missingMessage(program: Program): string {
  return (
    `${program.name} is missing: install it (Debian: apt-get install ${program.debianPackage}) or set ` +
    `${program.variable} to a ${program.kind}. Tests that need it are skipped, or fail where CI is set.`
  );
}

function postgresOnPath(): string | null {
  const program = Bun.which('postgres');
  if (program === null) return null;
  const folder = dirname(realpathSync(program));
  if (!existsSync(join(folder, 'initdb'))) return null;
  const answer = Bun.spawnSync([program, '--version']).stdout.toString();
  const version = /\(PostgreSQL\) (\d+)/.exec(answer)?.[1];
  return version !== undefined && Number(version) >= oldestPostgres ? folder : null;
}

/** Debian keeps its versions side by side, off the path: <parent>/15/bin, <parent>/17/bin … */
function newestPostgres(parent: string): string | null {
  if (!existsSync(parent)) return null;
  const versions = readdirSync(parent)
    .filter((name) => /^\d+$/.test(name) && Number(name) >= oldestPostgres)
    .filter((name) => ['initdb', 'postgres'].every((it) => existsSync(join(parent, name, 'bin', it))))
    .sort((one, other) => Number(other) - Number(one));
  return versions[0] === undefined ? null : join(parent, versions[0], 'bin');
}
