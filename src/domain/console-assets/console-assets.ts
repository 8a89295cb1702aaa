import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';

interface ConsoleAsset {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface ConsoleAssets {
  /** Adds the files of a build, and removes those of builds that no backend has started with for 14 days. */
  store(files: readonly ConsoleAsset[]): Promise<void>;
  /** Null if no build of the last 14 days has a file of this name. */
  find(name: string): Promise<Uint8Array<ArrayBuffer> | null>;
}

const KEEP_MS = 14 * 24 * 60 * 60_000;
const NAMES_EVERY_MS = 5_000;
/** About fifty builds of about eighty files. */
const MOST_NAMES = 4_000;

export function createConsoleAssets({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): ConsoleAssets {
  let names: ReadonlySet<string> = new Set();
  let readAt = Number.NEGATIVE_INFINITY;

  async function isKnown(name: string): Promise<boolean> {
    if (!names.has(name) && clock.now() - readAt >= NAMES_EVERY_MS) {
      readAt = clock.now();
      const rows = await database.query<{ name: string }>(
        'select name from console_assets order by last_built_at desc limit $1',
        [MOST_NAMES],
      );
      names = new Set(rows.map((row) => row.name));
    }
    return names.has(name);
  }

  return {
    async store(files) {
      const now = clock.now();
      // Sorted by name, so that backends that start at the same time wait for each other instead of deadlocking.
      const sorted = files.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      await database.query(
        `insert into console_assets (name, content, last_built_at)
         select name, decode(content, 'base64'), $3 from unnest($1::text[], $2::text[]) as file (name, content)
         on conflict (name) do update set last_built_at = greatest(console_assets.last_built_at, excluded.last_built_at)`,
        [sorted.map(({ name }) => name), sorted.map(({ bytes }) => bytes.toBase64()), new Date(now)],
      );
      await database.query('delete from console_assets where last_built_at < $1', [new Date(now - KEEP_MS)]);
    },
    async find(name) {
      if (!(await isKnown(name))) return null;
      const [row] = await database.query<{ content: Uint8Array }>(
        'select content from console_assets where name = $1',
        [name],
      );
      return row === undefined ? null : new Uint8Array(row.content);
    },
  };
}
