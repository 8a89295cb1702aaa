/** Something seen at a place of a text. */
export interface Found<Value> {
  readonly start: number;
  readonly end: number;
  readonly value: Value;
}

/** Whether a sorted list has something that overlaps a range. */
export function isTaken(
  taken: readonly { start: number; end: number }[],
  start: number,
  end: number,
): boolean {
  let low = 0;
  let high = taken.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = taken[middle];
    if (one !== undefined && one.end <= start) low = middle + 1;
    else high = middle;
  }
  const next = taken[low];
  return next !== undefined && next.start < end;
}
