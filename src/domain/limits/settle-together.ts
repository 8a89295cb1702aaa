import type { Settlement, SharedState } from '../../ports/shared-state.ts';

export type SettleTogether = (
  state: SharedState,
  tag: string,
  settlements: readonly Settlement[],
) => Promise<void>;

interface Batch {
  readonly settlements: Settlement[];
  readonly settled: Promise<void>;
}

/** Below what one step of shared state takes. */
const MOST_AT_ONCE = 200;

/**
 * Calls of one company that one commit has ended are settled in one step: at 32 connections that is one step for a
 * dozen calls. They come here one right after the other, so it is enough to let those pass who stand in line
 * already; nothing waits for a timer or for a turn of the event loop.
 *
 * `ownState` is told the levels too, so that a process that loses both shared state and the database still knows what
 * its companies had.
 */
export function createSettleTogether(ownState: SharedState | null = null): SettleTogether {
  const batches = new Map<SharedState, Map<string, Batch>>();

  function open(state: SharedState, tag: string, byTag: Map<string, Batch>): Batch {
    const settlements: Settlement[] = [];
    const settled = Promise.resolve().then(() => {
      if (byTag.get(tag) === batch) byTag.delete(tag);
      const levels = ownState === null || state === ownState ? [] : settlements.filter(isLevel);
      // In this process's memory: it has no way to fail but being closed.
      if (levels.length > 0) ownState?.settle(tag, levels).catch(() => {});
      return state.settle(tag, settlements);
    });
    const batch: Batch = { settlements, settled };
    byTag.set(tag, batch);
    return batch;
  }

  return async (state, tag, settlements) => {
    const byTag = batches.get(state) ?? new Map<string, Batch>();
    batches.set(state, byTag);
    const current = byTag.get(tag);
    const hasRoom = current !== undefined && current.settlements.length + settlements.length <= MOST_AT_ONCE;
    const batch = hasRoom ? current : open(state, tag, byTag);
    for (const settlement of settlements) add(batch.settlements, settlement);
    await batch.settled;
  };
}

const isLevel = ({ kind }: Settlement) => kind === 'level';

/** What goes into the same window goes as one sum, and of a level only the newest. */
function add(settlements: Settlement[], settlement: Settlement): void {
  if (settlement.kind === 'level') {
    const at = settlements.findIndex(({ kind, name }) => kind === 'level' && name === settlement.name);
    const same = settlements[at];
    if (same?.kind === 'level') {
      if (settlement.version > same.version) settlements[at] = settlement;
      return;
    }
  }
  if (settlement.kind === 'window') {
    const at = settlements.findIndex(
      (other) =>
        other.kind === 'window' &&
        other.name === settlement.name &&
        other.windowStart === settlement.windowStart,
    );
    const same = settlements[at];
    if (same?.kind === 'window') {
      settlements[at] = { ...same, delta: same.delta + settlement.delta };
      return;
    }
  }
  settlements.push(settlement);
}
