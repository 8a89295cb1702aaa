/**
 * `npm run test:mutants`: breaks the code in 120 small ways, one after the other, and looks whether a test notices. Each way
 * runs the tests that `npm test -- --changed` would run for it, the nearest first, until the first that fails. The ways are the
 * same for a seed as long as the code is. `npm run test:mutants -- 20 7` takes the number and the seed.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { createFailureReader } from '../runner/bun-failures.ts';
import { CHANGED_MS, nearest, reachedTests } from '../runner/selection.ts';
import { openTimings } from '../runner/timings.ts';
import { listenForInterruption } from '../services/interruption.ts';
import { boundToRunner } from '../services/service-account.ts';
import { startServices, type TestServices } from '../services/start-services.ts';
import { listPaths, readTree } from '../tidy/tree.ts';
import { drawMutations, findMutations, type Mutation, mutate } from './mutations.ts';

const root = join(import.meta.dir, '../..');
const MUTATED = /^src\/(?:domain|gateway|http)\/.*(?<!\.test)\.ts$/;
const COUNT = 120;
const SEED = 2_027;
/** A change that makes a loop endless is noticed, too: by this. */
const TEST_MS = 30_000;
const LONGEST_MS = 240_000;

interface Verdict {
  readonly kind: 'caught' | 'not caught' | 'interrupted';
  /** The test file that noticed, where one did before the run had to be ended. */
  readonly by?: string | undefined;
}

const [count = COUNT, seed = SEED] = process.argv.slice(2).map(Number);
const interruption = listenForInterruption();
const tree = readTree(root).filter(({ path }) => MUTATED.test(path));
const { below } = createSeededRandom(seed);
const mutations = drawMutations(findMutations(tree), count, below);
const services = await startServices();
const copy = mkdtempSync(join(tmpdir(), 'turnpike-mutants-'));
let caught = 0;
let tried = 0;
try {
  copyTree();
  for (const mutation of mutations) {
    const begun = performance.now();
    const verdict = await tryMutation(mutation, services);
    if (verdict.kind === 'interrupted') break;
    tried += 1;
    if (verdict.kind === 'caught') caught += 1;
    const { path, line, from, to } = mutation;
    const seconds = Math.round((performance.now() - begun) / 1_000);
    const by = verdict.by === undefined ? '' : ` by ${verdict.by}`;
    const change = `${path}:${line} ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
    console.log(`${verdict.kind}, ${seconds} s: ${change}${by}`);
  }
} finally {
  await services.stop();
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${caught} of ${tried} mutations were caught (${((100 * caught) / tried).toFixed(1)} %)`);
process.exit(interruption.exitCode() ?? 0);

/** What git knows, without what it does not; the packages are those of this folder. */
function copyTree(): void {
  for (const path of listPaths(root)) cpSync(join(root, path), join(copy, path));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

async function tryMutation(mutation: Mutation, { environment }: TestServices): Promise<Verdict> {
  const { path } = mutation;
  const text = readFileSync(join(root, path), 'utf8');
  const files = nearest(reachedTests(root, [path]), openTimings(root), CHANGED_MS);
  if (files.length === 0) return { kind: 'not caught' };
  writeFileSync(join(copy, path), mutate(text, mutation));
  try {
    const words = ['--bail=1', '--parallel=2', '--no-isolate', `--timeout=${TEST_MS}`];
    const command = [process.execPath, 'test', ...words, ...files.map((file) => `./${file}`)];
    const child = Bun.spawn(boundToRunner(command, 'TERM'), {
      cwd: copy,
      env: { ...process.env, ...environment, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', BUN_JSC_useOMGJIT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    const end = () => child.kill('SIGKILL');
    interruption.signal.addEventListener('abort', end, { once: true });
    const failures = createFailureReader();
    failures.add(await new Response(child.stderr).text());
    const exitCode = await child.exited;
    interruption.signal.removeEventListener('abort', end);
    if (interruption.signal.aborted) return { kind: 'interrupted' };
    if (exitCode === 0) return { kind: 'not caught' };
    return { kind: 'caught', by: failures.report().split(':\n')[0] };
  } finally {
    writeFileSync(join(copy, path), text);
  }
}
