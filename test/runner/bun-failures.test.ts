import { describe, expect, test } from 'bun:test';
import { createFailureReader } from './bun-failures.ts';

const rule = '-------------------------------';
const thrown = (message: string) =>
  `\n# Unhandled error between tests\n${rule}\n1 | throw\nerror: ${message}\n      at /a.ts:1:1\n${rule}\n\n`;

function reportOf(...pieces: string[]): string {
  const reader = createFailureReader();
  for (const piece of pieces) reader.add(piece);
  return reader.report();
}

describe('the failures of a test run, once more at its end', () => {
  test('are the failed tests with their file and message, and nothing of the others', () => {
    const report = reportOf(
      'a.test.ts:\n(pass) first\nerror: one is not two\n(fail) second [1ms]\n(pass) third\n\nb.test.ts:\n(pass) fourth\n',
    );
    expect(report).toBe('a.test.ts:\nerror: one is not two\n(fail) second [1ms]\n\n');
  });

  test('and what was thrown while no test ran', () => {
    const report = reportOf(`a.test.ts:\n(pass) first\n${thrown('late')}b.test.ts:\n(pass) second\n`);
    expect(report).toStartWith('a.test.ts:\n# Unhandled error between tests\n');
    expect(report).toContain('error: late\n');
    expect(report).not.toContain('(pass)');
  });

  test('and files whose process crashed', () => {
    expect(reportOf('a.test.ts:\n(pass) first\n✗ a.test.ts (worker crashed: SIGKILL)\n')).toContain(
      'SIGKILL',
    );
  });

  test('each once: the closing summary names them without their files', () => {
    const report = reportOf(
      'a.test.ts:\n(fail) first\n\nb.test.ts:\n(pass) second\n\n1 tests failed:\n(fail) first\n',
    );
    expect(report).toBe('a.test.ts:\n(fail) first\n\n');
  });

  test('whatever the chunks, and coloured or not', () => {
    const output = `a.test.ts:\n\x1b[31m(fail)\x1b[0m second\n${thrown('late')}`;
    const report = reportOf(...(output.match(/[\s\S]{1,7}/g) ?? []));
    expect(report).toContain('\x1b[31m(fail)\x1b[0m second\n');
    expect(report).toContain('error: late\n');
  });

  test('are bounded: the end of a long message, and the first of many failures', () => {
    expect(reportOf(`a.test.ts:\n${'line\n'.repeat(10_000)}error: here\n(fail) first\n`)).toHaveLength(
      'a.test.ts:\n'.length + 'line\n'.repeat(38).length + 'error: here\n(fail) first\n\n'.length,
    );
    const many = reportOf(
      'a.test.ts:\n',
      ...Array.from({ length: 5_000 }, (_, nth) => `(fail) test ${nth}\n`),
    );
    expect(many.length).toBeLessThan(10_000);
    expect(many).toContain('(fail) test 0\n');
  });

  test('are nothing where all is fine', () => {
    expect(reportOf('a.test.ts:\n(pass) first\n', '\n 1 pass\n 0 fail\n')).toBe('');
  });
});
