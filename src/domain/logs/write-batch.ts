import type { Statements } from '../../ports/database.ts';
import type { WaitingEntry } from './waiting-entries.ts';

/** `refused`: for what it holds, so it would be refused every time. `failed`: the next try may go well. */
export type BatchOutcome =
  | { readonly outcome: 'written' }
  | { readonly outcome: 'refused' | 'failed'; readonly error: unknown };

/** One statement, however many entries. The context goes in as text: the engines read a JSON string differently. */
export async function writeBatch(
  database: Statements,
  batch: readonly WaitingEntry[],
): Promise<BatchOutcome> {
  try {
    await database.query(
      `insert into log_entries (timestamp, level, message, context)
       select timestamp::timestamptz, level, message, context::jsonb
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as entry (timestamp, level, message, context)`,
      [
        batch.map((entry) => entry.timestamp),
        batch.map((entry) => entry.level),
        batch.map((entry) => entry.message),
        batch.map((entry) => entry.context),
      ],
    );
    return { outcome: 'written' };
  } catch (error) {
    return { outcome: isAboutTheData(error) ? 'refused' : 'failed', error };
  }
}

/** PostgreSQL's classes 22 and 23: it found fault with a value. */
function isAboutTheData(error: unknown): boolean {
  if (!(error instanceof Error) || !('sqlState' in error)) return false;
  return typeof error.sqlState === 'string' && /^2[23]/.test(error.sqlState);
}
