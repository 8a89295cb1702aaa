import type { Database } from '../../src/ports/database.ts';
import { createSeededRandom, type SeededRandom } from '../../test/doubles/seeded-random.ts';
import { replaceGlobals } from '../frame/globals.ts';
import { takeAction } from './actions.ts';
import { type Company, CURRENCIES, openMonths } from './months-world.ts';

/** Months end in it, and a leap day: 2028 has a 29 February. */
const STARTS = [
  Date.UTC(2026, 0, 31, 9),
  Date.UTC(2026, 7, 30, 23, 59, 30),
  Date.UTC(2028, 0, 30, 1),
  Date.UTC(2027, 9, 15),
];
const DAY = 86_400;

export interface PlayedMonths {
  readonly steps: number;
  /** What differs from the model, and the steps of that company before it; empty where nothing does. */
  readonly differences: readonly string[];
}

/** Companies that subscribe, change, cancel, pay late, buy and get money back for so many days, compared after each step. */
export async function playMonths(database: Database, seed: number, days: number): Promise<PlayedMonths> {
  const random = createSeededRandom(seed);
  const startMs = STARTS[seed % STARTS.length] ?? 0;
  const world = openMonths(database, random, { startMs, isTaxed: seed % 3 === 1 });
  const putBack = replaceGlobals({ nowMs: world.nowMs, random, fetch: world.fetch });
  try {
    await world.begin();
    const companies: Company[] = [];
    for (const currency of CURRENCIES) companies.push(await world.newCompany(currency));
    let steps = 0;
    while (world.nowMs() < startMs + days * DAY * 1000) {
      if (random.below(6) === 0) {
        await world.pass(1 + random.below(3 * DAY), 'late');
        for (const { model } of companies) model.advance(world.nowMs() / 1000, false);
      }
      await world.pass(secondsToPass(companies, world.nowMs() / 1000, random));
      for (const company of companies) {
        company.model.advance(world.nowMs() / 1000);
        const passed = await world.compare(company);
        const acted =
          passed.length > 0 || random.below(3) === 0 ? [] : await takeAction(world, company, random);
        await world.deliver();
        company.model.advance(world.nowMs() / 1000);
        steps += 1;
        const differences = [...passed, ...acted, ...(await world.compare(company))];
        if (differences.length > 0) return { steps, differences: [...company.lines, ...differences] };
      }
    }
    return { steps, differences: [] };
  } finally {
    putBack();
  }
}

/** Some days, or until the very second in which a period ends. */
function secondsToPass(companies: readonly Company[], now: number, random: SeededRandom): number {
  const ends = companies.flatMap(({ model }) => model.subscription?.periodEnd ?? []);
  const end = random.pick([...ends, 0]) - now;
  const isUntilEnd = end > 0 && end < 40 * DAY && random.below(3) === 0;
  return isUntilEnd ? end : 1 + random.below(12 * DAY);
}
