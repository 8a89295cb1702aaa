import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SILENCE_MS, TEST_MS } from '../doubles/patience.ts';
import type { Interruption } from '../services/interruption.ts';
import { boundToRunner } from '../services/service-account.ts';
import type { TestServices } from '../services/start-services.ts';
import { createFailureReader } from './bun-failures.ts';
import { type Counts, createSummaryReader } from './bun-summary.ts';
import { runChild } from './child.ts';
import { describeHang } from './hang.ts';
import { readJunit, type TestResult } from './junit.ts';

export interface BunRun {
  readonly counts: Counts;
  /** Empty where the process ended before it could write them. */
  readonly results: readonly TestResult[];
  /** What Bun wrote about the failures, once more. */
  readonly failures: string;
  /** Where the test processes wrote down what happened in their tests. */
  readonly recentFolder: string;
}

/** Runs `bun test` with these arguments on the given services, everything it writes passed through. */
export async function runBun(
  words: readonly string[],
  services: TestServices,
  interruption: Interruption,
): Promise<BunRun> {
  const summary = createSummaryReader();
  const failures = createFailureReader();
  const folder = mkdtempSync(join(services.environment.TMPDIR ?? '/tmp', 'run-'));
  const recentFolder = join(folder, 'recent');
  mkdirSync(recentFolder);
  const report = join(folder, 'junit.xml');
  const command = [
    ...[process.execPath, 'test', `--timeout=${TEST_MS}`, '--preload=./test/setup/preload.ts'],
    ...['--reporter=junit', `--reporter-outfile=${report}`, ...words],
  ];
  const exitCode = await runChild(boundToRunner(command, 'TERM'), {
    env: {
      ...process.env,
      ...services.environment,
      TEST_RECENT: recentFolder,
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
    silence: { afterMs: SILENCE_MS, describe: (pid) => describeHang(pid, recentFolder) },
  });
  return {
    counts: summary.counts(exitCode),
    results: existsSync(report) ? readJunit(readFileSync(report, 'utf8')) : [],
    failures: failures.report(),
    recentFolder,
  };
}
