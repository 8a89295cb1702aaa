import type { Clock } from '../../ports/clock.ts';
import type { DatabaseFailure } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';

/** After so long without an answer the store counts as away: the call that asked goes by what is known. */
const PATIENCE_MS = 1_000;
/** How long a store that gave no answer is left alone. Then one call tries it again. */
const AWAY_MS = 1_000;

export interface LevelReads<Level> {
  /** False right after the store gave no answer. */
  isAnswering(): boolean;
  /** Null where the store is away. Whoever asks under the same name meanwhile gets the same answer. */
  read(name: string, ask: () => Promise<Level>): Promise<Level | null>;
}

/**
 * Reads levels, each by one at a time, and remembers for a moment that the store is away, so that a paused one does
 * not hold up every call. A statement that the store refuses is a fault of ours and passes with no time: that one
 * rejects, and the call with it. Fails closed.
 */
export function createLevelReads<Level>({ clock, log }: { clock: Clock; log: Log }): LevelReads<Level> {
  const running = new Map<string, Promise<Level | null>>();
  let isAway = false;
  let leftAloneUntil = 0;

  function fallSilent(error: unknown): void {
    leftAloneUntil = clock.now() + AWAY_MS;
    if (!isAway) log.warn('credit levels cannot be read; the last known ones serve for a while', { error });
    isAway = true;
  }

  async function askOnce(ask: () => Promise<Level>): Promise<Level | null> {
    const late = Promise.withResolvers<null>();
    const patience = clock.after(PATIENCE_MS, () => {
      fallSilent(`no answer within ${PATIENCE_MS} ms`);
      late.resolve(null);
    });
    const answer = ask().then(
      (level) => {
        if (isAway) log.info('credit levels can be read again');
        isAway = false;
        leftAloneUntil = 0;
        return level;
      },
      (error: unknown) => {
        if ((error as Partial<DatabaseFailure>).reason === 'refused') throw error;
        fallSilent(error);
        return null;
      },
    );
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      patience.cancel();
    }
  }

  return {
    isAnswering: () => clock.now() >= leftAloneUntil,
    async read(name, ask) {
      const known = running.get(name);
      if (known !== undefined) return await known;
      const nowMs = clock.now();
      if (nowMs < leftAloneUntil) return null;
      // Of a store that was away, one call finds out for all.
      if (isAway) leftAloneUntil = nowMs + PATIENCE_MS;
      const reading = askOnce(ask).finally(() => running.delete(name));
      running.set(name, reading);
      return await reading;
    },
  };
}
