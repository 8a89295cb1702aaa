import { describe, expect, test } from 'bun:test';
import { countTests, createSummaryReader } from './bun-summary.ts';

const closing =
  '\n 31 pass\n 2 skip\n 3 fail\n 1 error\n 90 expect() calls\nRan 36 tests across 4 files. [1.00s]\n';

describe('the counts of a test run', () => {
  test('are read from the last lines, coloured or not', () => {
    expect(countTests(closing, 1)).toEqual({ passed: 31, failed: 3, skipped: 2 });
    const coloured = closing.replace(' 31 pass', '\x1b[32m 31 pass\x1b[0m');
    expect(countTests(coloured, 1)).toEqual({ passed: 31, failed: 3, skipped: 2 });
  });

  test('are not taken from the output of a test', () => {
    const printed = `\n 9 pass\n 9 fail\nRan 9 tests across 9 files. [1.00s]\n(pass) prints\n 7 fail\n${closing}`;
    expect(countTests(printed, 1)).toEqual({ passed: 31, failed: 3, skipped: 2 });
  });

  test('a crash before the last lines is a failure', () => {
    expect(countTests('(pass) first\nSegmentation fault\n', 139).failed).toBe(1);
  });

  test('a run in which no test ran is a failure', () => {
    expect(countTests('No tests found!\n', 1).failed).toBe(1);
    expect(countTests('\n 0 pass\n 4 skip\n 0 fail\nRan 4 tests across 1 file. [1ms]\n', 0).failed).toBe(1);
  });

  test('an exit code that no failed test explains is a failure', () => {
    const fine = '\n 5 pass\n 0 fail\nRan 5 tests across 1 file. [1ms]\n';
    expect(countTests(fine, 0)).toEqual({ passed: 5, failed: 0, skipped: 0 });
    expect(countTests(fine, 1)).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });

  test('are read from chunks, however long the output before them', () => {
    const reader = createSummaryReader();
    for (let line = 0; line < 10_000; line++) reader.add(`(pass) number ${line}\n`);
    for (const piece of closing.match(/[\s\S]{1,7}/g) ?? []) reader.add(piece);
    expect(reader.counts(1)).toEqual({ passed: 31, failed: 3, skipped: 2 });
  });
});
