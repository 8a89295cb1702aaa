import type { Database } from '../../src/ports/database.ts';
import { createSeededRandom, type SeededRandom } from '../../test/doubles/seeded-random.ts';
import { replaceGlobals } from '../frame/globals.ts';
import { takeAction } from './actions.ts';
import { type Company, CURRENCIES, openMonths, type World } from './months-world.ts';

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

/** In every second seed events wait for up to so long, some of them for longer than we wait for what they name. */
const LONGEST_HOLD = 40 * DAY;
const AUDITED_EVERY = 30 * DAY;

/**
 * Companies that subscribe, change, cancel, pay late, buy and get money back for so many days, compared with the model
 * whenever all events have arrived.
 */
export async function playMonths(database: Database, seed: number, days: number): Promise<PlayedMonths> {
  const random = createSeededRandom(seed);
  const startMs = STARTS[Math.floor(seed / 2) % STARTS.length] ?? 0;
  const holds = seed % 2 === 0;
  const world = openMonths(database, random, { startMs, isTaxed: seed % 3 === 1, holds });
  const putBack = replaceGlobals({ nowMs: world.nowMs, random, fetch: world.fetch });
  try {
    await world.begin();
    const companies: Company[] = [];
    for (const currency of CURRENCIES) companies.push(await world.newCompany(currency));
    const now = () => world.nowMs() / 1000;
    const end = startMs / 1000 + days * DAY;
    let [steps, changedAt, auditedAt] = [0, now(), now()];
    for (let isLast = false; !isLast; ) {
      isLast = now() >= end;
      if (random.below(6) === 0) {
        await world.pass(1 + random.below(3 * DAY), 'late');
        for (const { model } of companies) model.advance(now(), false);
      }
      const isChange = isLast || now() - changedAt > LONGEST_HOLD || random.below(3) === 0;
      if (holds && isChange && (world.isHolding || !isLast)) {
        world.isHolding = !world.isHolding;
        changedAt = now();
        const line = `${new Date(world.nowMs()).toISOString()} events ${world.isHolding ? 'wait' : 'arrive'}`;
        for (const { lines } of companies) lines.push(line);
      }
      await world.pass(secondsToPass(companies, now(), random));
      for (const company of companies) {
        const differences = await step(world, company, random);
        steps += 1;
        if (differences.length > 0) return { steps, differences: [...company.lines, ...differences] };
      }
      if (world.isHolding || (now() - auditedAt < AUDITED_EVERY && !isLast)) continue;
      auditedAt = now();
      const differences = await world.audit();
      if (differences.length > 0) {
        return { steps, differences: [...companies.flatMap(({ lines }) => lines), ...differences] };
      }
    }
    return { steps, differences: [] };
  } finally {
    putBack();
  }
}

async function step(world: World, company: Company, random: SeededRandom): Promise<readonly string[]> {
  const { model } = company;
  model.advance(world.nowMs() / 1000);
  const differences = world.isHolding ? [] : await world.compare(company);
  const most = world.isHolding ? random.below(4) : Number(random.below(3) > 0);
  for (let count = 0; count < most && differences.length === 0; count += 1) {
    if (count > 0 && random.below(2) === 0) await world.pass(1 + random.below(DAY / 24), 'late');
    model.advance(world.nowMs() / 1000);
    differences.push(...(await takeAction(world, company, random)));
  }
  await world.deliver();
  model.advance(world.nowMs() / 1000);
  return world.isHolding || differences.length > 0 ? differences : await world.compare(company);
}

/** Some days, or until the very second in which a period ends. */
function secondsToPass(companies: readonly Company[], now: number, random: SeededRandom): number {
  const ends = companies.flatMap(({ model }) => model.subscription?.periodEnd ?? []);
  const end = random.pick([...ends, 0]) - now;
  const isUntilEnd = end > 0 && end < 40 * DAY && random.below(3) === 0;
  return isUntilEnd ? end : 1 + random.below(12 * DAY);
}
