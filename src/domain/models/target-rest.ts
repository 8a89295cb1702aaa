import type { Clock } from '../../ports/clock.ts';
import type { AliasTarget } from './aliases.ts';

/**
 * Which targets are tried last for a while, as this process has seen them: one that fails 5 times in a row rests
 * for 10 s, and for 10 s more with every failure after that, until it answers once. A resting target is still
 * tried when all others have failed: resting saves time, it never refuses a call.
 */
const FAILURES_BEFORE_REST = 5;
const REST_MS = 10_000;

interface Failing {
  inARow: number;
  restsUntil: number;
}

export interface TargetRest {
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  /** Forgets all targets but these, which bounds what is remembered by the catalogue's 192 targets. */
  keepOnly(targetIds: ReadonlySet<string>): void;
  /** `draw` is from 0 up to 1. The first by weight, then the rest in their order; those that rest come last. */
  order(targets: readonly AliasTarget[], draw: number): readonly AliasTarget[];
}

export function createTargetRest({ clock }: { clock: Pick<Clock, 'now'> }): TargetRest {
  const failing = new Map<string, Failing>();
  let known: ReadonlySet<string> = new Set();

  return {
    noteFailure(targetId) {
      // A call may end after its target was replaced.
      if (!known.has(targetId)) return;
      const failures = failing.get(targetId) ?? { inARow: 0, restsUntil: 0 };
      failures.inARow += 1;
      if (failures.inARow >= FAILURES_BEFORE_REST) failures.restsUntil = clock.now() + REST_MS;
      failing.set(targetId, failures);
    },
    noteSuccess: (targetId) => void failing.delete(targetId),
    keepOnly(targetIds) {
      known = targetIds;
      for (const id of failing.keys()) if (!targetIds.has(id)) failing.delete(id);
    },
    order(targets, draw) {
      if (targets.length < 2) return targets;
      if (failing.size === 0) return drawnFirst(targets, draw);
      const now = clock.now();
      const rests = ({ id }: AliasTarget) => (failing.get(id)?.restsUntil ?? 0) > now;
      const resting = targets.filter(rests);
      if (resting.length === 0 || resting.length === targets.length) return drawnFirst(targets, draw);
      return [
        ...drawnFirst(
          targets.filter((target) => !rests(target)),
          draw,
        ),
        ...resting,
      ];
    },
  };
}

function drawnFirst(targets: readonly AliasTarget[], draw: number): readonly AliasTarget[] {
  let left = 0;
  for (const { weight } of targets) left += weight;
  left *= draw;
  // The last one stays where rounding has left a rest after all of them.
  let drawn = targets.length - 1;
  for (let at = 0; at < drawn; at += 1) {
    left -= targets[at]?.weight ?? 0;
    if (left < 0) drawn = at;
  }
  const first = targets[drawn];
  if (drawn === 0 || first === undefined) return targets;
  return [first, ...targets.slice(0, drawn), ...targets.slice(drawn + 1)];
}
