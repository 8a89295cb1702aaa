import { until } from '../../test/doubles/until.ts';
import type { Findings, Lab } from './fault-case.ts';
import { keepCalling, refusedOf, slowestMs, type TimedCall, tally } from './load.ts';

export interface Through {
  readonly url: string;
  away(): unknown;
  back(): unknown;
  /** How long the fault lasts. */
  readonly forMs: number;
  readonly lanes?: number;
  /** Calls that ended without a whole answer are a failure of the case. */
  readonly mustAnswerAll?: boolean;
}

const LANES = 20;
const RECOVERED_WITHIN_MS = 60_000;

/** Load before, during and after a fault, and what it saw. */
export async function throughFault(lab: Lab, through: Through): Promise<Findings> {
  const { url, away, back, forMs, lanes = LANES, mustAnswerAll = false } = through;
  const load = keepCalling(url, lab.world.rawKey, lanes);
  try {
    await until(() => load.seen.filter(({ isWhole }) => isWhole).length > lanes);
    const awayAt = performance.now();
    await away();
    try {
      await Bun.sleep(forMs);
    } finally {
      await back();
    }
    const backAt = performance.now();
    const isAfter = ({ startedAt, isWhole }: TimedCall) => isWhole && startedAt > backAt;
    await until(() => load.seen.filter(isAfter).length > lanes, RECOVERED_WITHIN_MS);
    const calls = await load.stop();
    const during = calls.filter(({ endedAt, startedAt }) => endedAt > awayAt && startedAt < backAt);
    const firstAfter = calls
      .filter(isAfter)
      .reduce((least, { endedAt }) => Math.min(least, endedAt), Infinity);
    const kept = `${tally(during)} while it lasted ${Math.round(backAt - awayAt)} ms, slowest ${slowestMs(during)} ms`;
    const missed = calls.filter(({ isWhole }) => !isWhole);
    return {
      kept,
      refused: refusedOf(calls),
      recoveryMs: firstAfter - backAt,
      lost: '',
      problems:
        mustAnswerAll && missed.length > 0
          ? [`not answered: ${refusedOf(missed)}; the first: ${missed[0]?.reason?.slice(0, 300)}`]
          : [],
    };
  } finally {
    lab.seen.push(...(await load.stop()));
  }
}
