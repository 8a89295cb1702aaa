/**
 * `npm test`: format and lint, types, and beside them every test, on a PostgreSQL and a Redis of its own. The last line
 * is always `N passed, N failed`. With arguments (`npm test -- ledger -t "double"`) they go to `bun test`
 * and the checks are left out.
 */
import { join } from 'node:path';
import { createFailureReader } from './services/bun-failures.ts';
import { type Counts, createSummaryReader } from './services/bun-summary.ts';
import { runChild } from './services/child.ts';
import { type Interruption, listenForInterruption } from './services/interruption.ts';
import { boundToRunner } from './services/service-account.ts';
import { startServices } from './services/start-services.ts';

const root = join(import.meta.dir, '..');
/**
 * For hooks too: a first start builds a whole database cluster, seconds on an idle machine and a minute on a busy
 * one. It is said here because `setDefaultTimeout` in a preloaded file holds for the first test file only (tried with Bun 1.4.4).
 */
const testTimeoutMs = 120_000;
/**
 * Files side by side in three processes: one more than the smallest machine has cores, because many tests wait for servers
 * and browsers. Each keeps its globals from file to file, as a single one would.
 */
const sideBySide = ['--parallel=3', '--no-isolate'];
const onTerminal = process.stdout.isTTY === true;
const checks = [
  ['biome', 'ci', ...(onTerminal ? [] : ['--colors=off']), '.'],
  // Several checkers repeat each other's work, and the cores are busy with the tests.
  ['tsc', '--singleThreaded', '--pretty', String(onTerminal)],
];

/** The programs that found something wrong; they write what it is. */
async function runChecks(interruption: Interruption): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [program = '', ...words] of checks) {
    const command = [join(root, 'node_modules/.bin', program), ...words];
    const exitCode = await runChild(command, { env: process.env, signal: interruption.signal });
    if (exitCode !== 0) failed.push(program);
  }
  return failed;
}

async function runTests(words: readonly string[], interruption: Interruption): Promise<Counts> {
  const summary = createSummaryReader();
  const failures = createFailureReader();
  const services = await startServices();
  const command = [
    process.execPath,
    'test',
    `--timeout=${testTimeoutMs}`,
    ...(words.length === 0 ? sideBySide : []),
    ...words,
  ];
  try {
    const exitCode = await runChild(boundToRunner(command, 'TERM'), {
      env: {
        ...process.env,
        ...services.environment,
        // Read by Bun only while it starts; without it `fetch` runs at most 256 requests at once.
        BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
        // The runtime's last compiler for WebAssembly pays off after minutes, and a test's engine lives for seconds: without it a
        // start of the embedded system takes a quarter less CPU time.
        BUN_JSC_useOMGJIT: '0',
        // Standard error is read here, so Bun cannot see that it ends at a terminal.
        ...(process.stderr.isTTY && !process.env.NO_COLOR ? { FORCE_COLOR: '1' } : {}),
      },
      signal: interruption.signal,
      onErrorOutput(text) {
        summary.add(text);
        failures.add(text);
      },
    });
    if (words.length === 0 && failures.report() !== '')
      console.error(`\nWhat failed:\n\n${failures.report()}`);
    const counts = summary.counts(exitCode);
    return { ...counts, failed: counts.failed + services.failedStarts };
  } finally {
    await services.stop();
  }
}

process.chdir(root);
const interruption = listenForInterruption();
const words = process.argv.slice(2);
// Compiling takes one core for most of a minute, which is no reason to wait with the tests.
const checking = words.length === 0 ? runChecks(interruption) : [];
const counts = await runTests(words, interruption).catch((error): Counts => {
  console.error(error);
  return { passed: 0, failed: 1, skipped: 0 };
});
const failedChecks = await checking;

const interruptedWith = interruption.exitCode();
if (interruptedWith !== null) {
  console.error('interrupted: the services are stopped and their folder is removed');
  process.exit(interruptedWith);
}
for (const program of failedChecks) console.error(`${program} failed: npm run check shows why`);
const failed = failedChecks.length + counts.failed;
if (counts.skipped > 0) console.log(`${counts.skipped} skipped`);
console.log(`${counts.passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
