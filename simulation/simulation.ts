import type { Database } from '../src/ports/database.ts';
import { openMemoryDatabase } from '../test/doubles/memory-database.ts';
import { makeBaseWorld } from './base-world.ts';
import { readSnapshot } from './frame/database.ts';
import { type Deed, embeddedPlanOf, type PlannedDeed, planOf } from './plan.ts';
import { type Played, type PlayParts, play } from './play.ts';
import type { PortChanges } from './world.ts';

/** One embedded database in this thread, put back to the beginning for each seed. */
export interface Simulation {
  run(seed: number, hours: number, changes?: SimulationChanges): Promise<Played>;
  /** Of a plan that fails, as few deeds as still fail in the same way. */
  shrink(seed: number, hours: number, changes?: SimulationChanges): Promise<Shrunk>;
  close(): Promise<void>;
}

interface SimulationChanges extends PortChanges {
  /** The kinds of faults, where not all are wanted. */
  readonly only?: readonly Deed['kind'][];
}

interface Shrunk extends Played {
  readonly plan: readonly PlannedDeed[];
  /** Of the plan that failed first. */
  readonly deeds: number;
}

export async function openSimulation(): Promise<Simulation> {
  const database: Database = await openMemoryDatabase();
  const base = await makeBaseWorld(database);
  const parts: PlayParts = { base, database, beginning: await readSnapshot(database) };
  return {
    run: (seed, hours, changes = {}) =>
      play({ ...parts, changes }, seed, planFor(seed, hours, changes), hours),
    shrink: (seed, hours, changes = {}) =>
      shrink({ ...parts, changes }, seed, planFor(seed, hours, changes), hours),
    close: () => database.close(),
  };
}

function planFor(seed: number, hours: number, { only, isEmbedded }: SimulationChanges): PlannedDeed[] {
  return (isEmbedded === true ? embeddedPlanOf : planOf)(seed, hours, only);
}

const MOST_PLAYS = 150;

/** Leaves out halves, quarters, eighths … of the plan, for as long as the rest fails as the whole did. */
async function shrink(
  parts: PlayParts,
  seed: number,
  whole: readonly PlannedDeed[],
  hours: number,
): Promise<Shrunk> {
  const first = await play(parts, seed, whole, hours);
  const failure = kindOf(first);
  let best = { ...first, plan: whole, deeds: whole.length };
  if (failure === null) return best;
  let plays = 0;
  for (let size = Math.ceil(whole.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.plan.length && plays < MOST_PLAYS; ) {
      const plan = [...best.plan.slice(0, from), ...best.plan.slice(from + size)];
      plays += 1;
      const played = await play(parts, seed, plan, Math.min(hours, lastHour(plan)));
      if (kindOf(played) === failure) best = { ...played, plan, deeds: whole.length };
      else from += size;
    }
  }
  return best;
}

/** So that nothing is waited for after the last deed. */
function lastHour(plan: readonly PlannedDeed[]): number {
  return ((plan.at(-1)?.atMs ?? 0) + 60_000) / 3_600_000;
}

/** What failed, without the names of who it happened to. */
function kindOf({ violation }: Played): string | null {
  return violation === null
    ? null
    : violation.message.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|r?\d[\d.-]*/g, '#').slice(0, 60);
}

const MOST_LINES = 60;

/** What a person needs to understand a failing seed. */
export function describeFailure(seed: number, { violation, plan, deeds, lines }: Shrunk): string[] {
  return [
    `seed ${seed} fails: ${violation?.message}`,
    `  ${plan.length} of ${deeds} deeds are enough:`,
    ...plan.map(({ atMs, deed }) => `  ${(atMs / 1000).toFixed(3).padStart(10)} s  ${JSON.stringify(deed)}`),
    '  the last steps:',
    ...lines.slice(-MOST_LINES).map((line) => `  ${line}`),
  ];
}
