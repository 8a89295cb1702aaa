import type { Row } from './measurement.ts';
import { median, medianOf } from './median.ts';

/** One way of doing the thing that is counted. */
export interface Way {
  readonly label: string;
  once(): Promise<unknown>;
}

interface RateOptions {
  readonly signal: AbortSignal;
  /** How many run beside each other. */
  readonly atOnce: number;
  readonly roundMs?: number;
}

const ROUNDS = 5;
const ROUND_MS = 200;
const MOST_IN_A_ROUND = 500_000;

/**
 * How often a second each way can be done. The ways take turns, round after round, each round begun by another, so
 * that whatever else the machine does meets all of them. The reference comes first; the others stand beside it, by
 * the median of what they were in each round.
 */
export async function compareRates(
  what: string,
  [reference, ...others]: readonly [Way, ...Way[]],
  { signal, atOnce, roundMs = ROUND_MS }: RateOptions,
): Promise<Row[]> {
  const ways = [reference, ...others];
  const rates = new Map<Way, number[]>(ways.map((way) => [way, []]));
  // To warm up.
  for (const way of ways) await rateOf(way, atOnce, roundMs);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let turn = 0; turn < ways.length; turn += 1) {
      signal.throwIfAborted();
      const way = ways[(round + turn) % ways.length] ?? reference;
      rates.get(way)?.push(await rateOf(way, atOnce, roundMs));
    }
  }
  const referenceRates = rates.get(reference) ?? [];
  return ways.map((way): Row => {
    const own = rates.get(way) ?? [];
    const row: Row = { label: `${what}: ${way.label}`, unit: '/s', ...medianOf(own) };
    if (way === reference) return row;
    const ratio = median(own.map((rate, round) => rate / (referenceRates[round] ?? Number.NaN)));
    return { ...row, beside: { reference: reference.label, ratio } };
  });
}

async function rateOf({ once }: Way, atOnce: number, roundMs: number): Promise<number> {
  const begin = performance.now();
  const deadline = begin + roundMs;
  let done = 0;
  async function repeat(): Promise<void> {
    // At least once, so that no round is empty when the machine pauses longer than a round takes.
    do {
      await once();
      done += 1;
    } while (performance.now() < deadline && done < MOST_IN_A_ROUND);
  }
  await Promise.all(Array.from({ length: atOnce }, repeat));
  return (done * 1000) / (performance.now() - begin);
}
