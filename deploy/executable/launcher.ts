/**
 * The executable's own program. It carries the whole tree (sources, migrations, console, packages) as one archive,
 * unpacks it once for each version, and runs in it what was asked for. Threads, child processes and files beside the
 * sources then work as they do in a checkout; ../../decisions/0019-executable.md tells why it is not bundled.
 *
 * A child process of ours is this same file, called with a program of the tree: it runs that and nothing else.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { restartWith } from './restart-with.ts';

/** Of the archive; put in by the build. */
declare const TREE_DIGEST: string;

/** Read by the runtime when it starts, so it must stand in the environment before. */
const NEEDED = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };
const SERVICES: Readonly<Record<string, string>> = {
  everything: 'src/start/everything.ts',
  gateway: 'src/start/gateway.ts',
  backend: 'src/start/backend.ts',
  'ai-service': 'src/start/ai-service.ts',
};
const USAGE = `usage: turnpike serve [everything | gateway | backend | ai-service]
       turnpike COMMAND …      turnpike help lists them`;

const [, , first = 'serve', ...more] = process.argv;
if (isOfTheTree(first)) await runProgram(first, more);
else if (first === 'serve') await serve(more);
else await runProgram(join(await unpackedTree(), 'src/start/turnpike.ts'), [first, ...more]);

/** By its path alone: a child process may have been given an empty environment. */
function isOfTheTree(path: string): boolean {
  return path.startsWith('/') && path.includes(`/${TREE_DIGEST}/src/`) && path.endsWith('.ts');
}

async function serve([service = 'everything', ...tooMany]: readonly string[]): Promise<void> {
  const program = SERVICES[service];
  if (program === undefined || tooMany.length > 0) {
    process.stderr.write(`${USAGE}\n`);
    process.exit(2);
  }
  const missing = Object.entries(NEEDED).filter(([name]) => process.env[name] === undefined);
  if (missing.length > 0) restartWith(Object.fromEntries(missing));
  await runProgram(join(await unpackedTree(), program), []);
}

/** As if the runtime had been called with it. */
async function runProgram(program: string, words: readonly string[]): Promise<void> {
  process.argv.splice(1, process.argv.length, program, ...words);
  await import(program);
}

/**
 * A folder of the user's own, named after what is in it. It is made beside its place and renamed when it is whole, so that
 * two first starts at once, or one that was cut short, leave no half of it. One that another user could have
 * written is refused: what lies there is run.
 */
async function unpackedTree(): Promise<string> {
  const folder = cacheFolder();
  const place = join(folder, TREE_DIGEST);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseForeign(folder);
  if (existsSync(place)) return place;
  const [archive] = Bun.embeddedFiles;
  if (archive === undefined) throw new Error('this executable carries no tree: build it anew');
  const unfinished = `${place}.${process.pid}`;
  mkdirSync(unfinished, { mode: 0o700 });
  await new Bun.Archive(await archive.bytes()).extract(unfinished);
  chmodSync(unfinished, 0o700);
  try {
    renameSync(unfinished, place);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(place)) throw error;
  }
  return place;
}

function cacheFolder(): string {
  const { TURNPIKE_UNPACKED, XDG_CACHE_HOME } = process.env;
  if (TURNPIKE_UNPACKED) return TURNPIKE_UNPACKED;
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'turnpike');
}

function refuseForeign(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid === userInfo().uid && (mode & 0o022) === 0) return;
  process.stderr.write(
    `turnpike: ${folder} must be this user's alone, since programs are run from it. Make it so (chmod 700), or name another folder in TURNPIKE_UNPACKED.\n`,
  );
  process.exit(1);
}
