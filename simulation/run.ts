/**
 * `npm run simulate -- --seed N --hours H`: the real code of calls, credits and payments on simulated time, database,
 * shared state, disk, providers and clients, with several faults at once. `--seeds 1..50` plays several. Ends with
 * `N seeds, N steps, 0 violations` and exit code 0, or with the failing seed, the fewest deeds that make it fail, and
 * exit code 1. `--months M` compares months of subscriptions and packs with a model, `--budgets STEPS` balances, limits
 * and budgets. `--embedded` plays a system on its embedded parts. `--old-faults` puts faults of earlier
 * versions back, one after the other, and shows that each is found.
 */
import { parseArgs } from 'node:util';
import { openMemoryDatabase } from '../test/doubles/memory-database.ts';
import { playBudgets, shrinkBudgets } from './budgets/play-budgets.ts';
import { playMonths } from './months/play-months.ts';
import { findOldFaults } from './old-faults.ts';
import { describeFailure, openSimulation } from './simulation.ts';

const MOST_SEEDS = 100_000;
const MOST_HOURS = 1_000;
const MOST_MONTHS = 60;
const MOST_STEPS = 100_000;

interface Words {
  readonly seeds: readonly [number, number];
  readonly hours: number;
  readonly months: number | null;
  /** Steps of the model of money limits. */
  readonly budgets: number | null;
  readonly oldFaults: boolean;
  readonly isEmbedded: boolean;
}

function readWords(): Words | null {
  const options = {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    hours: { type: 'string' },
    months: { type: 'string' },
    budgets: { type: 'string' },
    embedded: { type: 'boolean' },
    'old-faults': { type: 'boolean' },
  } as const;
  try {
    const { values } = parseArgs({ args: process.argv.slice(2), options });
    const range = /^(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(values.seeds ?? values.seed ?? '1');
    const hours = Number(values.hours ?? '1');
    const months = values.months === undefined ? null : Number(values.months);
    const budgets = values.budgets === undefined ? null : Number(values.budgets);
    const from = Number(range?.[1]);
    const to = Number(range?.[2] ?? range?.[1]);
    const isSound =
      range !== null &&
      from <= to &&
      to - from < MOST_SEEDS &&
      hours > 0 &&
      hours <= MOST_HOURS &&
      (months === null || (months > 0 && months <= MOST_MONTHS)) &&
      (budgets === null || (Number.isInteger(budgets) && budgets > 0 && budgets <= MOST_STEPS));
    const { embedded: isEmbedded = false, 'old-faults': oldFaults = false } = values;
    return isSound ? { seeds: [from, to], hours, months, budgets, oldFaults, isEmbedded } : null;
  } catch {
    return null;
  }
}

async function main(): Promise<number> {
  const words = readWords();
  if (words === null) {
    console.error(
      'usage: npm run simulate -- [--seed N | --seeds N..M] [--hours H | --months M | --budgets STEPS] [--embedded] [--old-faults]',
    );
    return 2;
  }
  if (words.months !== null) return await runMonths(words.seeds, words.months);
  if (words.budgets !== null) return await runBudgets(words, words.budgets);
  const simulation = await openSimulation();
  if (words.oldFaults) return (await findOldFaults(simulation, console.log)) ? 0 : 1;
  const {
    seeds: [from, to],
    isEmbedded,
  } = words;
  let [steps, hours] = [0, 0];
  for (let seed = from; seed <= to; seed += 1) {
    const played = await simulation.run(seed, words.hours, { isEmbedded });
    steps += played.steps;
    hours += played.hours;
    if (played.violation !== null) {
      console.log(`seed ${seed}: ${played.violation.message}; looking for the fewest deeds that do it`);
      const shrunk = await simulation.shrink(seed, words.hours, { isEmbedded });
      for (const line of describeFailure(seed, shrunk)) console.log(line);
      console.log(`seed ${seed}: 1 violation after ${steps} steps`);
      return 1;
    }
    if (to > from) console.log(`seed ${seed}: ${played.steps} steps, ${played.hours.toFixed(1)} hours`);
  }
  console.log(`${hours.toFixed(1)} simulated hours`);
  console.log(`${to - from + 1} seeds, ${steps} steps, 0 violations`);
  return 0;
}

/** A month has 30.5 days here. */
async function runMonths([from, to]: Words['seeds'], months: number): Promise<number> {
  let steps = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const database = await openMemoryDatabase();
    const played = await playMonths(database, seed, months * 30.5);
    await database.close();
    steps += played.steps;
    if (played.differences.length > 0) {
      for (const line of played.differences) console.log(`  ${line}`);
      console.log(`seed ${seed}: 1 violation after ${steps} steps`);
      return 1;
    }
    if (to > from) console.log(`seed ${seed}: ${played.steps} steps`);
  }
  console.log(`${to - from + 1} seeds, ${steps} steps, 0 violations`);
  return 0;
}

async function runBudgets({ seeds: [from, to], isEmbedded }: Words, most: number): Promise<number> {
  let steps = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const share = seed % 2 === 0 ? 0 : 333_333;
    const options = { seed, steps: most, isDeferred: isEmbedded, cacheShareMillionths: share };
    const database = await openMemoryDatabase();
    const played = await playBudgets(database, options);
    await database.close();
    steps += played.steps;
    if (played.differences.length > 0) {
      console.log(`seed ${seed}: ${played.differences.at(-1)}; looking for the fewest steps that do it`);
      const shrunk = await shrinkBudgets(openMemoryDatabase, { ...options, steps: played.steps });
      for (const line of shrunk.differences) console.log(`  ${line}`);
      console.log(`seed ${seed}: 1 violation after ${steps} steps`);
      return 1;
    }
    if (to > from) console.log(`seed ${seed}: ${played.steps} steps, ${played.calls} calls`);
  }
  console.log(`${to - from + 1} seeds, ${steps} steps, 0 violations`);
  return 0;
}

process.exit(await main());
