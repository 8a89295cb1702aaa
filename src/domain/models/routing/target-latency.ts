import type { Clock } from '../../../ports/clock.ts';
import type { AliasTarget } from '../aliases.ts';

/**
 * How long targets take until their status, as measured by this process, for aliases that are routed by latency.
 *
 *   measure      an average in which older answers count less: half after 10 s
 *   preferred    the target with the lowest measure
 *   explored     one call in twenty is sent to another target. So is a single call to a target without a measure or with
 *                an old one: for the comparison a measure halves with every minute of age, so a target that was twice as
 *                slow is measured again after a minute, and one that was ten times as slow after three to four
 *
 * Streams and whole answers are measured separately: the status of a whole answer arrives once all of it is written.
 */
export interface TargetLatency {
  /** `ms` from sending a call until its status. */
  note(targetId: string, isStream: boolean, ms: number): void;
  /** Notes a call that was ended before its status: it would have taken longer than this. */
  noteAtLeast(targetId: string, isStream: boolean, ms: number): void;
  /** The target to try first, then the others, fastest first. `draw` is from 0 up to 1. */
  order(targets: readonly AliasTarget[], draw: number, isStream: boolean): readonly AliasTarget[];
  /** Forgets all targets but these. */
  keepOnly(targetIds: ReadonlySet<string>): void;
}

const SMOOTHED_OVER_MS = 10_000;
/** The least weight of each answer, even if many arrive at once. */
const LEAST_SHARE = 0.1;
const AGE_HALVES_MS = 60_000;
const EXPLORED_SHARE = 0.05;
/** The minimum time between calls that are sent to a target because its measure is missing or old. */
const EXPLORED_AGAIN_MS = 10_000;

interface Measure {
  /** Null before the first answer. */
  ms: number | null;
  atMs: number;
  /** When a call was last sent to it only to measure it. */
  exploredAtMs: number;
}

export function createTargetLatency({ clock }: { readonly clock: Pick<Clock, 'uptimeMs'> }): TargetLatency {
  const ofStreams = new Map<string, Measure>();
  const ofWhole = new Map<string, Measure>();
  let known: ReadonlySet<string> = new Set();
  const measuresOf = (isStream: boolean) => (isStream ? ofStreams : ofWhole);

  function measureOf(id: string, isStream: boolean): Measure {
    const measures = measuresOf(isStream);
    const found = measures.get(id);
    if (found !== undefined) return found;
    const made = { ms: null, atMs: 0, exploredAtMs: Number.NEGATIVE_INFINITY };
    // A call may end after its target was replaced.
    if (known.has(id)) measures.set(id, made);
    return made;
  }

  function note(id: string, isStream: boolean, ms: number): void {
    const measure = measureOf(id, isStream);
    const nowMs = clock.uptimeMs();
    const forgotten = 1 - 2 ** (-(nowMs - measure.atMs) / SMOOTHED_OVER_MS);
    const share = measure.ms === null ? 1 : Math.max(LEAST_SHARE, forgotten);
    measure.ms = (measure.ms ?? 0) + share * (ms - (measure.ms ?? 0));
    measure.atMs = nowMs;
  }

  return {
    note,
    noteAtLeast(id, isStream, ms) {
      if (ms > (measureOf(id, isStream).ms ?? 0)) note(id, isStream, ms);
    },
    order(targets, draw, isStream) {
      const nowMs = clock.uptimeMs();
      const measured = targets.map((target) => ({ target, measure: measureOf(target.id, isStream) }));
      const fastest = measured.sort((one, other) => slowness(one.measure) - slowness(other.measure));
      const sorted = fastest.map(({ target }) => target);
      const explored = exploredAt(
        fastest.map(({ measure }) => measure),
        nowMs,
      );
      if (explored !== -1) return withFirst(sorted, explored);
      // Nothing is known yet: calls are spread until the first answer.
      if (fastest[0]?.measure.ms === null) return withFirst(sorted, Math.floor(draw * sorted.length));
      if (draw >= EXPLORED_SHARE) return sorted;
      return withFirst(sorted, 1 + Math.floor((draw / EXPLORED_SHARE) * (sorted.length - 1)));
    },
    keepOnly(targetIds) {
      known = targetIds;
      for (const measures of [ofStreams, ofWhole]) {
        for (const id of measures.keys()) if (!targetIds.has(id)) measures.delete(id);
      }
    },
  };
}

/** Moves one target to the front; the others keep their order. */
export function withFirst(targets: readonly AliasTarget[], at: number): readonly AliasTarget[] {
  const first = targets[at];
  if (at === 0 || first === undefined) return targets;
  return [first, ...targets.slice(0, at), ...targets.slice(at + 1)];
}

function slowness({ ms }: Measure): number {
  return ms ?? Number.MAX_VALUE;
}

/** Lowest for a target that was never measured. */
function agedMs({ ms, atMs }: Measure, nowMs: number): number {
  return ms === null ? -1 : ms * 2 ** (-(nowMs - atMs) / AGE_HALVES_MS);
}

/** The index of the target that this call measures, or -1. `measures` are sorted, fastest first. */
function exploredAt(measures: readonly Measure[], nowMs: number): number {
  const [fastest] = measures;
  let lowest = fastest === undefined || fastest.ms === null ? 0 : agedMs(fastest, nowMs);
  let explored = -1;
  for (const [at, measure] of measures.entries()) {
    const aged = agedMs(measure, nowMs);
    if (aged >= lowest || !mayExplore(measure, nowMs)) continue;
    lowest = aged;
    explored = at;
  }
  const chosen = measures[explored];
  if (chosen !== undefined) chosen.exploredAtMs = nowMs;
  return explored;
}

function mayExplore({ exploredAtMs }: Measure, nowMs: number): boolean {
  return nowMs - exploredAtMs >= EXPLORED_AGAIN_MS;
}
