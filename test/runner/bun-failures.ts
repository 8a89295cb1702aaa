/** Of one failure: its last lines, which hold the message and where it was thrown. */
const linesOfOne = 40;
/** Of all together: build servers may show the end of a long output alone. */
const keptCharacters = 8_000;

/** A file whose process crashed has a line of its own. */
const RESULT = /^(\((pass|fail|skip|todo)\)|✗) /;
const FILE = /^\S+\.test\.tsx?:$/;
const UNHANDLED = '# Unhandled error between tests';
/** The closing summary, which names the failed tests without their files. */
const SUMMARY = /^\d+ tests? failed:$/;
const RULE = /^-{20,}$/;

/**
 * Keeps what `bun test` writes about failed tests, and about errors that it counts beside the tests because they were thrown
 * while none ran: in a hook, or by work that outlived its test. Both would be buried in the results of the other files.
 */
export function createFailureReader() {
  let rest = '';
  let file = '';
  let rules = 0;
  let sinceResult: string[] = [];
  let report = '';
  let hasEnded = false;

  function keep(lines: readonly string[]): void {
    const text = [file, ...lines.slice(-linesOfOne)].join('\n');
    if (report.length + text.length <= keptCharacters) report += `${text}\n\n`;
  }

  function read(line: string): void {
    const plain = Bun.stripANSI(line);
    hasEnded ||= SUMMARY.test(plain);
    if (hasEnded) return;
    if (FILE.test(plain)) {
      file = line;
      sinceResult = [];
    } else if (RESULT.test(plain)) {
      if (/^(\(fail\)|✗)/.test(plain)) keep([...sinceResult, line]);
      sinceResult = [];
    } else if (plain === UNHANDLED) {
      rules = 2;
      sinceResult = [line];
    } else {
      sinceResult.push(line);
      if (rules > 0 && RULE.test(plain) && --rules === 0) {
        keep(sinceResult);
        sinceResult = [];
      }
    }
    if (sinceResult.length > 4 * linesOfOne) sinceResult = sinceResult.slice(-linesOfOne);
  }

  return {
    add(text: string): void {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) read(line);
    },
    /** The failures once more, the first ones if there are many; empty without any. */
    report: () => report,
  };
}
