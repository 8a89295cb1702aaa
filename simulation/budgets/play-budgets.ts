import type { Database } from '../../src/ports/database.ts';
import { createSeededRandom } from '../../test/doubles/seeded-random.ts';
import { type Actions, openActions } from './actions.ts';
import { type BudgetWorldOptions, openBudgetWorld } from './budget-world.ts';
import { differencesIn, faultsIn } from './compare.ts';

export interface PlayedBudgets {
  readonly steps: number;
  readonly calls: number;
  /** How often calls were refused, by code. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly months: number;
  /** What differs from the model, and the steps before it; empty where nothing does. */
  readonly differences: readonly string[];
}

export interface BudgetsOptions extends BudgetWorldOptions {
  readonly seed: number;
  readonly steps: number;
  /** Steps that are left out, to find the fewest that fail. */
  readonly without?: ReadonlySet<number>;
}

/** Steps between two looks at the database, on which deferred charges are written. */
const DEFERRED_LOOKS = 7;
const AUDITED_EVERY = 60;
const LINES_SHOWN = 60;

/** One company for so many steps, compared with the model after each. */
export async function playBudgets(database: Database, options: BudgetsOptions): Promise<PlayedBudgets> {
  const { seed, steps, isDeferred, without } = options;
  const random = createSeededRandom(seed);
  const world = await openBudgetWorld(database, random, options);
  const actions = await openActions(world, random, options);
  const differences: string[] = [];
  const looked = () => differencesIn(world, actions.model, actions.isHoldKnown());
  let step = 0;
  while (step < steps && differences.length === 0) {
    // Every step has random numbers of its own, so that others are not changed by leaving it out.
    const own = createSeededRandom(seed * 1_000_003 + step);
    if (without?.has(step) !== true) {
      actions.note(`-- step ${step}, ${new Date(world.nowMs()).toISOString()}`);
      differences.push(...(await act(actions, own)));
      const isLooked = !isDeferred || step % DEFERRED_LOOKS === DEFERRED_LOOKS - 1;
      if (isLooked && differences.length === 0) differences.push(...(await looked()));
      if (step % AUDITED_EVERY === AUDITED_EVERY - 1) differences.push(...(await faultsIn(world.database)));
    }
    step += 1;
  }
  if (differences.length === 0) {
    await actions.endAll();
    differences.push(...(await looked()), ...(await faultsIn(world.database)));
  }
  await world.close();
  const lines = differences.length === 0 ? [] : actions.lines.slice(-LINES_SHOWN);
  const { calls, refusals, months } = actions.seen;
  return { steps: step, calls, refusals, months: months.size, differences: [...lines, ...differences] };
}

type Own = ReturnType<typeof createSeededRandom>;

/** How often each kind of step is taken, of a hundred. */
const WEIGHTS: readonly (readonly [number, (actions: Actions, random: Own) => Promise<readonly string[]>])[] =
  [
    [40, (actions, random) => actions.begin(random)],
    [19, (actions, random) => actions.end(random)],
    [6, (actions, random) => actions.beginTogether(random)],
    [4, (actions, random) => actions.callCached(random)],
    [8, (actions, random) => actions.changeBudget(random)],
    [4, (actions, random) => actions.adjust(random)],
    [3, (actions, random) => actions.transfer(random)],
    [4, (actions, random) => actions.changeKey(random)],
    [2, (actions, random) => actions.rotateKey(random)],
    [1, (actions, random) => actions.revokeKey(random)],
    [2, (actions, random) => actions.setBilling(random)],
    [1, (actions, random) => actions.suspend(random)],
    [3, (actions, random) => actions.pass(random)],
    [1, (actions) => actions.leap()],
    [2, (actions) => actions.loseState()],
  ];

async function act(actions: Actions, random: Own): Promise<readonly string[]> {
  // It would spend the rest of its time suspended.
  if (actions.model.isSuspended && random.below(4) === 0) return await actions.suspend(random);
  let drawn = random.below(WEIGHTS.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, run] of WEIGHTS) {
    if (drawn < weight) return await run(actions, random);
    drawn -= weight;
  }
  return [];
}

/** The fewest steps that still fail, found by leaving out one after the other. */
export async function shrinkBudgets(
  open: () => Promise<Database>,
  options: BudgetsOptions,
): Promise<PlayedBudgets> {
  const without = new Set<number>();
  const playWithout = async () => {
    const database = await open();
    const played = await playBudgets(database, { ...options, without }).finally(() => database.close());
    return played;
  };
  let shortest = await playWithout();
  for (let chunk = 64; chunk >= 1; chunk = Math.floor(chunk / 4)) {
    for (let from = 0; from < shortest.steps; from += chunk) {
      const tried: number[] = [];
      for (let step = from; step < from + chunk; step += 1) if (!without.has(step)) tried.push(step);
      if (tried.length === 0) continue;
      for (const step of tried) without.add(step);
      const played = await playWithout();
      if (played.differences.length > 0) shortest = played;
      else for (const step of tried) without.delete(step);
    }
  }
  return shortest;
}
