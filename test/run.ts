/**
 * `npm test`: every fast test, on a PostgreSQL and a Redis of its own. `npm run test:slow` has the others, `npm run test:all`
 * both. `npm test -- --changed` runs the fast ones that a change reaches by its imports: what is not committed, or what
 * differs from the commit named behind it. All other arguments go to `bun test`, whichever test they name. The last line is
 * always `N passed, N failed`.
 */
import { join } from 'node:path';
import { type BunRun, runBun } from './runner/bun-test.ts';
import { isExcused } from './runner/flaky.ts';
import { commandFor, slowestFiles, type TestResult } from './runner/junit.ts';
import { readRecent } from './runner/recent-files.ts';
import { affectedTests, CHANGED_MS, changedSince, isSlow, testFiles } from './runner/selection.ts';
import { openTimings, slowestFirst } from './runner/timings.ts';
import { type Interruption, listenForInterruption } from './services/interruption.ts';
import { startServices, type TestServices } from './services/start-services.ts';

const root = join(import.meta.dir, '..');
/**
 * Files side by side in three processes: one more than the smallest machine has cores, because many tests wait for servers
 * and browsers. Each keeps its globals from file to file, as a single one would.
 */
const SIDE_BY_SIDE = ['--parallel=3', '--no-isolate'];
const SLOWEST_SHOWN = 10;
const FAILURES_DESCRIBED = 20;

interface Total {
  passed: number;
  failed: number;
  skipped: number;
  readonly results: TestResult[];
  readonly flaky: string[];
}

/** A part of the tests, with what became of it added to the total. */
async function runPart(
  words: readonly string[],
  isRetried: boolean,
  services: TestServices,
  total: Total,
): Promise<void> {
  const run = await runBun(words, services, interruption);
  total.results.push(...run.results);
  total.passed += run.counts.passed;
  total.failed += run.counts.failed;
  total.skipped += run.counts.skipped;
  if (run.failures !== '') console.error(`\nWhat failed:\n\n${run.failures}`);
  const failed = run.results.filter(({ outcome }) => outcome === 'failed');
  for (const one of failed.slice(0, FAILURES_DESCRIBED)) describeFailure(run, one);
  if (isRetried) await retry(failed, services, total);
}

/** What a failed test did last, and how to run it alone. */
function describeFailure({ recentFolder, results }: BunRun, failed: TestResult): void {
  const ofFile = results.filter(({ file, outcome }) => file === failed.file && outcome !== 'skipped');
  const recent = readRecent(recentFolder, join(root, failed.file), ofFile.indexOf(failed) + 1);
  const lines = [`${failed.file}: ${failed.name}`, ...(recent === '' ? [] : [recent])];
  console.error([...lines, `alone: ${commandFor(failed)}`, ''].join('\n'));
}

/** Once more, each file alone. What passes then counts as passed, as far as the list of flaky tests has it. */
async function retry(failed: readonly TestResult[], services: TestServices, total: Total): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  for (const file of new Set(failed.map((one) => one.file))) {
    console.error(`\nonce more, alone: ${file}`);
    const { results } = await runBun([`./${file}`], services, interruption);
    for (const { name } of failed.filter((one) => one.file === file)) {
      if (!results.some((one) => one.name === name && one.outcome === 'passed')) continue;
      const excused = isExcused({ file, name }, today);
      total.flaky.push(`flaky${excused ? '' : ', and not in test/runner/flaky.ts'}: ${file}: ${name}`);
      if (!excused) continue;
      total.passed += 1;
      total.failed -= 1;
    }
  }
}

async function runAll(words: readonly string[], services: TestServices, total: Total): Promise<void> {
  const files = testFiles(root);
  const part = (slow: boolean) => files.filter((path) => isSlow(path) === slow);
  const runFiles = async (paths: readonly string[], isRetried = false) => {
    const options = [...SIDE_BY_SIDE, ...slowestFirst(root, paths)];
    await runPart([...options, ...paths.map((path) => `./${path}`)], isRetried, services, total);
  };
  const [first, commit = 'HEAD'] = words;
  if (first === undefined) await runFiles(part(false));
  else if (first === '--slow') await runFiles(part(true), true);
  else if (first === '--all') {
    await runFiles(part(false));
    await runFiles(part(true), true);
  } else if (first === '--changed') {
    const { paths, left } = affectedTests(root, changedSince(root, commit), openTimings(root), CHANGED_MS);
    await runFiles(paths);
    if (left > 0) console.log(`${left} files that the change reaches from further away are in npm test`);
  } else await runPart(words, false, services, total);
}

process.chdir(root);
const interruption: Interruption = listenForInterruption();
const total: Total = { passed: 0, failed: 0, skipped: 0, results: [], flaky: [] };
try {
  const services = await startServices();
  total.failed += services.failedStarts;
  try {
    await runAll(process.argv.slice(2), services, total);
  } finally {
    await services.stop();
  }
} catch (error) {
  console.error(error);
  total.failed += 1;
}

const interruptedWith = interruption.exitCode();
if (interruptedWith !== null) {
  console.error('interrupted: the services are stopped and their folder is removed');
  process.exit(interruptedWith);
}
const slowest = slowestFiles(total.results, SLOWEST_SHOWN);
if (slowest.length > 1) {
  console.log('The slowest files, in seconds of their tests:');
  for (const [file, seconds] of slowest) console.log(`${seconds.toFixed(1).padStart(6)} ${file}`);
}
for (const line of total.flaky) console.log(line);
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
