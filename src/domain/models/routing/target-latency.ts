import type { Clock } from '../../../ports/clock.ts';
import type { AliasTarget } from '../aliases.ts';

/**
 * How long targets take until their status, as this process has measured it, for aliases that are routed by latency.
 *
 *   measure      an average in which older answers count less: half after 10 s
 *   preferred    the target with the lowest measure
 *   explored     one call in twenty goes to another target. So does a single call to a target without a measure, and to one
 *                whose measure is old: an age of a minute halves it for the comparison, so a target that was twice as slow
 *                is measured again after a minute, and one that was ten times as slow after three to four
 *
 * Streams and whole answers are measured apart: the status of a whole answer comes when all of it is written.
 */
export interface TargetLatency {
  /** `ms` from sending a call until its status. */
  note(targetId: string, isStream: boolean, ms: number): void;
  /** A call that was ended before its status: it would have taken longer than this. */
  noteAtLeast(targetId: string, isStream: boolean, ms: number): void;
  /** The one to try first, then the others, the fastest first. `draw` is from 0 up to 1. */
  order(targets: readonly AliasTarget[], draw: number, isStream: boolean): readonly AliasTarget[];
  /** Forgets all targets but these. */
  keepOnly(targetIds: ReadonlySet<string>): void;
}

const SMOOTHED_OVER_MS = 10_000;
/** So much at least of each answer, also of many within a moment. */
const LEAST_SHARE = 0.1;
const AGE_HALVES_MS = 60_000;
const EXPLORED_SHARE = 0.05;
/** A target gets one call without being measured in so long. */
const EXPLORED_AGAIN_MS = 10_000;

interface Measure {
  /** Null before the first answer. */
  ms: number | null;
  atMs: number;
  /** When a call was last sent there only to measure it. */
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
      // Nothing is known yet: the calls until the first answer are spread.
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

/** One of the targets first, the others in their order behind it. */
export function withFirst(targets: readonly AliasTarget[], at: number): readonly AliasTarget[] {
  const first = targets[at];
  if (at === 0 || first === undefined) return targets;
  return [first, ...targets.slice(0, at), ...targets.slice(at + 1)];
}

function slowness({ ms }: Measure): number {
  return ms ?? Number.MAX_VALUE;
}

/** Lowest for what was never measured. */
function agedMs({ ms, atMs }: Measure, nowMs: number): number {
  return ms === null ? -1 : ms * 2 ** (-(nowMs - atMs) / AGE_HALVES_MS);
}

/** Which one this call measures, of the fastest and those behind it; -1 for none. */
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
