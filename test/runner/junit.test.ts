import { expect, test } from 'bun:test';
import { commandFor, readJunit, slowestFiles } from './junit.ts';

/** As Bun writes it: the outermost group of a file is the file. */
const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" failures="1" skipped="1" time="3.5">
  <testsuite name="src/a.test.ts" file="src/a.test.ts" tests="3" failures="1" skipped="1" time="2.5">
    <testsuite name="a key &gt; its limits" file="src/a.test.ts" line="2" tests="2" failures="1" time="1.5">
      <testcase name="isn&apos;t $5" classname="a key &gt; its limits" time="1.5" file="src/a.test.ts" line="3">
        <failure type="AssertionError" message="expect(received).toBe(expected)">at src/a.test.ts:2:92</failure>
      </testcase>
      <testcase name="later" classname="a key &gt; its limits" time="0" file="src/a.test.ts">
        <skipped />
      </testcase>
    </testsuite>
    <testcase name="alone" classname="" time="1" file="src/a.test.ts" line="9" />
  </testsuite>
  <testsuite name="src/b.test.ts" file="src/b.test.ts" tests="1" time="3">
    <testcase name="other" classname="" time="3" file="src/b.test.ts" line="1" />
  </testsuite>
</testsuites>`;

test('the report names every test with its file, its groups and its outcome', () => {
  const file = 'src/a.test.ts';
  expect(readJunit(REPORT)).toEqual([
    { file, name: "a key > its limits isn't $5", seconds: 1.5, outcome: 'failed' },
    { file, name: 'a key > its limits later', seconds: 0, outcome: 'skipped' },
    { file, name: 'alone', seconds: 1, outcome: 'passed' },
    { file: 'src/b.test.ts', name: 'other', seconds: 3, outcome: 'passed' },
  ]);
});

test('the slowest files come first', () => {
  expect(slowestFiles(readJunit(REPORT), 2)).toEqual([
    ['src/b.test.ts', 3],
    ['src/a.test.ts', 2.5],
  ]);
});

test('the command for one test can be pasted into a shell, whatever its name', () => {
  const [failed] = readJunit(REPORT);
  if (failed === undefined) throw new Error('the report is empty');
  const command = commandFor(failed);
  const { stdout } = Bun.spawnSync(['sh', '-c', `printf '%s\\n' ${command}`]);
  const pattern = stdout.toString().trimEnd().split('\n').at(-1) ?? '';
  expect(command).toStartWith('npm test -- src/a.test.ts -t ');
  expect(new RegExp(pattern).test(failed.name)).toBe(true);
  expect(new RegExp(pattern).test(`${failed.name} and more`)).toBe(false);
});
