export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  const lower = sorted[Math.ceil(middle) - 1];
  if (upper === undefined || lower === undefined) throw new Error('the median of nothing');
  return (upper + lower) / 2;
}

/** A row's figure, of a measure that was taken several times. */
export function medianOf(values: readonly number[]): { value: number; range: readonly [number, number] } {
  return { value: median(values), range: [Math.min(...values), Math.max(...values)] };
}
