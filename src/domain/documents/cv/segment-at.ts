import type { LaidOutText } from '../text/lay-out.ts';

/** The segment that holds an offset, or the one before it. */
export function segmentAt({ segments }: LaidOutText, offset: number): number {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle]?.start ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
