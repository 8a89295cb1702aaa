import { Parser } from 'htmlparser2';

export interface TestResult {
  /** From the repository's root. */
  readonly file: string;
  /** With the names of the groups that it stands in, as `bun test -t` compares them. */
  readonly name: string;
  readonly seconds: number;
  readonly outcome: 'passed' | 'failed' | 'skipped';
}

/** Reads the report of `bun test --reporter=junit`: every test that was named, in the order of its file. */
export function readJunit(xml: string): TestResult[] {
  const results: TestResult[] = [];
  const groups: string[] = [];
  let open: { file: string; name: string; seconds: number; outcome: TestResult['outcome'] } | null = null;
  const parser = new Parser(
    {
      onopentag(tag, { name = '', file = '', time = '0' }) {
        // The outermost group of a file is the file.
        if (tag === 'testsuite') groups.push(name === file ? '' : name);
        if (tag === 'testcase') {
          const names = [...groups.filter((group) => group !== ''), name];
          open = { file, name: names.join(' '), seconds: Number(time), outcome: 'passed' };
        }
        if (tag === 'failure' && open !== null) open.outcome = 'failed';
        if (tag === 'skipped' && open !== null) open.outcome = 'skipped';
      },
      onclosetag(tag) {
        if (tag === 'testsuite') groups.pop();
        if (tag === 'testcase' && open !== null) {
          results.push(open);
          open = null;
        }
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
  return results;
}

/** The files that took longest, with the seconds of their tests; hooks are not in the report. */
export function slowestFiles(
  results: readonly TestResult[],
  count: number,
): [file: string, seconds: number][] {
  const seconds = new Map<string, number>();
  for (const one of results) seconds.set(one.file, (seconds.get(one.file) ?? 0) + one.seconds);
  return [...seconds].sort(([, one], [, other]) => other - one).slice(0, count);
}

/** What runs this test and no other, to be pasted into a shell. */
export function commandFor({ file, name }: Pick<TestResult, 'file' | 'name'>): string {
  const pattern = `^${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
  return `npm test -- ${file} -t '${pattern.replaceAll("'", "'\\''")}'`;
}
