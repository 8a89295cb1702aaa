export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** As much of standard error as holds the closing lines with room to spare. */
const keptCharacters = 20_000;

/** Keeps the end of what `bun test` writes to standard error, where its closing lines stand. */
export function createSummaryReader() {
  let kept = '';
  return {
    add(text: string): void {
      kept = (kept + text).slice(-keptCharacters);
    },
    counts: (exitCode: number): Counts => countTests(kept, exitCode),
  };
}

/**
 * Reads the counts from the closing lines:
 *
 *      1 pass
 *      1 skip
 *      2 fail
 *     Ran 4 tests across 2 files. [4.00ms]
 *
 * They count a file that cannot be loaded as a failure, which the JUnit report leaves out. A run without
 * them has crashed, one without a test that ran is empty: both count as one failure, and so does an exit
 * code that no failed test explains.
 */
export function countTests(errorOutput: string, exitCode: number): Counts {
  const lines = Bun.stripANSI(errorOutput).split('\n');
  const end = lines.findLastIndex((line) => /^Ran \d+ tests? across \d+ files?\./.test(line));
  if (end === -1) return { passed: 0, failed: 1, skipped: 0 };
  let beginning = end;
  while (beginning > 0 && lines[beginning - 1]?.trim() !== '') beginning--;
  const closing = lines.slice(beginning, end).join('\n');
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, 'm').exec(closing)?.[1] ?? 0);

  const passed = count('pass');
  const failed = count('fail');
  const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: unexplained ? 1 : failed, skipped: count('skip') + count('todo') };
}
