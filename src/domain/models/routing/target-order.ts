import type { Clock } from '../../../ports/clock.ts';
import type { Alias, AliasTarget, RoutingStrategy } from '../aliases.ts';
import type { TargetCooling } from '../target-cooling.ts';
import { type TargetLatency, withFirst } from './target-latency.ts';

/**
 * Targets that are tried last for a while, as seen by this process. A target that fails 5 times in a row rests for 10
 * s, and again for 10 s after every further failure, until it answers once. A cooling target rests as well. Resting
 * targets are still tried after all others have failed: resting saves time and never refuses a call.
 */
const FAILURES_BEFORE_REST = 5;
const REST_MS = 10_000;

interface Failing {
  inARow: number;
  restsUntil: number;
}

interface TargetOrder {
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  /** Forgets all targets but these, so that memory is limited by the catalogue. */
  keepOnly(targetIds: ReadonlySet<string>): void;
  /**
   * `draw` is from 0 up to 1. The first target is chosen by the strategy; the others follow in order. Resting targets
   * are last, the first to be free again first. If all of them rest, that is ignored.
   */
  order(alias: RoutedTargets, draw: number, isStream?: boolean): readonly AliasTarget[];
}

/** Without routing, the first target is drawn by weight. */
type RoutedTargets = Pick<Alias, 'targets' | 'routing'>;

interface OrderBy {
  readonly strategy: RoutingStrategy;
  /** Streams and whole answers are measured separately. */
  readonly isStream: boolean;
}

interface TargetOrderParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly cooling: Pick<TargetCooling, 'isEmpty' | 'untilMs'>;
  readonly latency: Pick<TargetLatency, 'order'>;
}

const BY_WEIGHT: OrderBy = { strategy: 'weight', isStream: false };

export function createTargetOrder({ clock, cooling, latency }: TargetOrderParts): TargetOrder {
  const failing = new Map<string, Failing>();
  let known: ReadonlySet<string> = new Set();

  function arranged(
    targets: readonly AliasTarget[],
    draw: number,
    { strategy, isStream }: OrderBy,
  ): readonly AliasTarget[] {
    if (strategy === 'weight') return drawnFirst(targets, draw);
    return strategy === 'order' ? targets : latency.order(targets, draw, isStream);
  }

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
    order({ targets, routing = null }, draw, isStream = false) {
      if (targets.length < 2) return targets;
      const by = routing === null ? BY_WEIGHT : { strategy: routing.strategy, isStream };
      if (failing.size === 0 && cooling.isEmpty()) return arranged(targets, draw, by);
      const now = clock.now();
      const freeAt = ({ id }: AliasTarget) => Math.max(failing.get(id)?.restsUntil ?? 0, cooling.untilMs(id));
      const rests = (target: AliasTarget) => freeAt(target) > now;
      const resting = targets.filter(rests).sort((one, other) => freeAt(one) - freeAt(other));
      if (resting.length === 0 || resting.length === targets.length) return arranged(targets, draw, by);
      const ready = targets.filter((target) => !rests(target));
      return [...arranged(ready, draw, by), ...resting];
    },
  };
}

function drawnFirst(targets: readonly AliasTarget[], draw: number): readonly AliasTarget[] {
  let left = 0;
  for (const { weight } of targets) left += weight;
  left *= draw;
  // The last target is chosen if rounding leaves a remainder after all of them.
  let drawn = targets.length - 1;
  for (let at = 0; at < drawn; at += 1) {
    left -= targets[at]?.weight ?? 0;
    if (left < 0) drawn = at;
  }
  return withFirst(targets, drawn);
}
