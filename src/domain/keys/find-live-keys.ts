import type { DatabaseFailure, Statements } from '../../ports/database.ts';
import { type ApiKey, KEY_COLUMNS } from './api-key.ts';

export type FoundKeys =
  | { readonly outcome: 'answered'; readonly keys: ReadonlyMap<string, ApiKey> }
  /** The store says nothing at the moment: nobody knows which of them are live. */
  | { readonly outcome: 'away'; readonly error: unknown }
  /** The statement itself was refused, which waiting does not mend. */
  | { readonly outcome: 'broken'; readonly error: unknown };

/**
 * The live keys among those hashes, in one statement. One that was revoked or has expired is left out by the
 * statement itself, so that it cannot be told from one that never existed, by what comes back or by its time (G-25).
 */
export async function findLiveKeys(
  statements: Statements,
  hashes: readonly string[],
  nowMs: number,
): Promise<FoundKeys> {
  try {
    const rows = await statements.query<ApiKey & { hash: string }>(
      `select encode(sha256, 'hex') as hash, ${KEY_COLUMNS} from api_keys
       where sha256 = any(array(select decode(asked.hash, 'hex') from unnest($1::text[]) as asked (hash)))
         and revoked_at is null and (expires_at is null or expires_at > $2)`,
      [hashes, new Date(nowMs)],
    );
    return { outcome: 'answered', keys: new Map(rows.map(({ hash, ...key }) => [hash, key])) };
  } catch (error) {
    return { outcome: isAway(error) ? 'away' : 'broken', error };
  }
}

function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'DatabaseFailure') return false;
  return (error as DatabaseFailure).reason !== 'refused';
}
