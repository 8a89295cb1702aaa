/**
 * Slow tests that may fail once and pass alone, until their cause is found. Nothing of `npm test` can be excused. A line is
 * good for two weeks from the day it was written: a later day excuses nothing.
 */
export interface FlakyTest {
  readonly file: string;
  readonly name: string;
  /** The last day on which it is excused, YYYY-MM-DD. */
  readonly until: string;
  /** What is known of the cause. */
  readonly reason: string;
}

export const FLAKY: readonly FlakyTest[] = [];

const DAY_MS = 24 * 60 * 60 * 1_000;
const LONGEST_DAYS = 14;

export function isExcused(
  { file, name }: Pick<FlakyTest, 'file' | 'name'>,
  today: string,
  list: readonly FlakyTest[] = FLAKY,
): boolean {
  return list.some((one) => one.file === file && one.name === name && isGood(one, today));
}

/** Not over, and not further ahead than a line may reach. */
function isGood({ until }: FlakyTest, today: string): boolean {
  const days = (Date.parse(until) - Date.parse(today)) / DAY_MS;
  return days >= 0 && days <= LONGEST_DAYS;
}
