import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { Alias, AliasTarget } from './aliases.ts';
import { MODELS_TOPIC } from './change-targets.ts';
import { type OpenedCatalogue, type OpeningParts, openCatalogue } from './opened-catalogue.ts';
import { readPrices } from './prices.ts';
import { readCatalogue, readVersion } from './stored-targets.ts';
import { createTargetRest } from './target-rest.ts';

export interface ModelDirectoryParts extends OpeningParts {
  readonly database: Statements;
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

export interface ModelDirectory {
  /** Null for whatever is not exactly one of the six aliases: a provider's name of a model is not one. */
  find(alias: string): Alias | null;
  all(): readonly Alias[];
  /** The alias's targets in the order to try them; `draw` is a random number from 0 up to, not including, 1. */
  order(alias: Alias, draw: number): readonly AliasTarget[];
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  close(): Promise<void>;
}

/** A change reaches every process within a second (G-15), also where the message about it was lost. */
const POLL_MS = 500;

/**
 * All aliases, their targets and prices in memory, so that a call asks nobody. Read again when a message tells of a
 * change, when messages may have been lost, and when the version in the database has moved on. While the database
 * is away the last known catalogue stays in force: a wrong target answers with an error of its own, no target
 * would refuse every call.
 */
export async function createModelDirectory(parts: ModelDirectoryParts): Promise<ModelDirectory> {
  const { database, sharedState, clock, log } = parts;
  const rest = createTargetRest({ clock });
  let catalogue: OpenedCatalogue = new Map();
  let aliases: readonly Alias[] = [];
  let version: bigint | null = null;
  let timer: Timer | null = null;
  let isClosed = false;
  let isAway = false;

  async function load(): Promise<void> {
    const stored = await readCatalogue(database);
    // After the version: a price set between the two is read now, and again when the version is seen to have moved.
    const prices = await readPrices(database);
    catalogue = await openCatalogue(parts, { ...stored, prices }, version === null ? null : catalogue);
    aliases = [...catalogue.values()];
    rest.keepOnly(new Set(aliases.flatMap(({ targets }) => targets.map(({ id }) => id))));
    version = stored.version;
  }

  const reload = oneAtATime(load);
  const reloadOrKeep = () => void withoutThrowing(reload);

  async function withoutThrowing(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (isAway) log.info('the model catalogue can be read again');
      isAway = false;
    } catch (error) {
      // Said once for an outage: this runs twice a second.
      if (!isAway && !isClosed) {
        log.error('the model catalogue cannot be read: the last known one stays in force', { error });
      }
      isAway = true;
    }
  }

  async function poll(): Promise<void> {
    await withoutThrowing(async () => {
      if ((await readVersion(database)) !== version) await reload();
    });
    if (!isClosed) timer = clock.after(POLL_MS, () => void poll());
  }

  // Subscribed first: a change between the two is heard of, and read twice at worst.
  const subscription = await sharedState.subscribe(MODELS_TOPIC, reloadOrKeep, reloadOrKeep);
  try {
    await reload();
  } catch (error) {
    await subscription.close();
    throw error;
  }
  timer = clock.after(POLL_MS, () => void poll());

  return {
    find: (alias) => catalogue.get(alias) ?? null,
    all: () => aliases,
    order: (alias, draw) => rest.order(alias.targets, draw),
    noteFailure: rest.noteFailure,
    noteSuccess: rest.noteSuccess,
    async close() {
      isClosed = true;
      timer?.cancel();
      await subscription.close();
    },
  };
}

/** Whoever asks while it runs gets another run after it: what it has read may be older than what they know of. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    next = null;
    running = work().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(start, start);
    return next;
  };
}
