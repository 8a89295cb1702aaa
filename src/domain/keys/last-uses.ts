import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';

export interface LastUses {
  note(keyId: string): void;
  /** Writes what was noted; what is noted afterwards is dropped. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 30_000;
/** The keys noted between two writes. Those beyond it are left out until the next round, which is harmless. */
const MOST_KEYS = 10_000;

/**
 * When a key was last used, gathered and written in one statement at most every half a minute. What is lost, by a
 * crash or because another process has the row just now, is said again by the key's next use.
 */
export function createLastUses({
  database,
  clock,
  log,
}: {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
}): LastUses {
  let usedAtMs = new Map<string, number>();
  let timer: Timer | null = null;
  let writing: Promise<void> = Promise.resolve();
  let closed = false;

  async function write(): Promise<void> {
    timer = null;
    if (usedAtMs.size === 0) return;
    const uses = usedAtMs;
    usedAtMs = new Map();
    try {
      await writeLastUses(database, uses);
    } catch (error) {
      log.warn('when keys were last used could not be written', { keys: uses.size, error });
    }
  }

  return {
    note(keyId) {
      if (closed || (usedAtMs.size >= MOST_KEYS && !usedAtMs.has(keyId))) return;
      usedAtMs.set(keyId, clock.now());
      timer ??= clock.after(WRITE_EVERY_MS, () => {
        writing = write();
      });
    },
    async close() {
      closed = true;
      timer?.cancel();
      await writing;
      await write();
    },
  };
}

/**
 * Rows that another process writes at this moment are skipped, not waited for: two processes with the same keys
 * in another order would otherwise wait for each other.
 */
async function writeLastUses(statements: Statements, usedAtMs: ReadonlyMap<string, number>): Promise<void> {
  await statements.query(
    `update api_keys set last_used_at = greatest(api_keys.last_used_at, used.at::timestamptz)
     from unnest($1::uuid[], $2::text[]) as used (id, at)
     where api_keys.id = used.id and api_keys.id in (
       select free.id from api_keys free where free.id = any($1::uuid[]) for no key update skip locked
     )`,
    [[...usedAtMs.keys()], Array.from(usedAtMs.values(), (ms) => new Date(ms).toISOString())],
  );
}
