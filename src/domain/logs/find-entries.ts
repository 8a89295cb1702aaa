import type { SqlValue, Statements } from '../../ports/database.ts';
import type { LogContext, LogEntry, LogLevel } from '../../ports/log.ts';

/** What is left out does not narrow the search. */
export interface EntryFilter {
  /** At least this level. */
  readonly level?: LogLevel | undefined;
  /** In the message or in the context, whatever the case of its letters. */
  readonly contains?: string | undefined;
  readonly requestId?: string | undefined;
  /** Not before. */
  readonly from?: Date | undefined;
  /** Before. */
  readonly to?: Date | undefined;
  /** At most MAX_ENTRIES, which a larger number means too. */
  readonly limit?: number | undefined;
  /** The cursor of the page before. */
  readonly after?: string | undefined;
}

export type FoundEntries =
  /** Newest first. The cursor is null where nothing older is left. */
  | { readonly outcome: 'found'; readonly entries: readonly LogEntry[]; readonly nextCursor: string | null }
  | { readonly outcome: 'invalid-cursor' };

export const MAX_ENTRIES = 500;
const DEFAULT_ENTRIES = 100;
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

interface Place {
  readonly timestamp: Date;
  readonly id: bigint;
}

interface EntryRow extends Place {
  readonly level: LogLevel;
  readonly message: string;
  readonly context: LogContext;
}

/** A page of kept entries, newest first. */
export async function findEntries(database: Statements, filter: EntryFilter): Promise<FoundEntries> {
  const after = filter.after === undefined ? null : readCursor(filter.after);
  if (filter.after !== undefined && after === null) return { outcome: 'invalid-cursor' };
  const limit = Math.max(1, Math.min(Math.trunc(filter.limit ?? DEFAULT_ENTRIES), MAX_ENTRIES));
  const { conditions, values } = conditionsOf(filter, after);
  // One more than asked for tells whether there is a next page.
  const rows = await database.query<EntryRow>(
    `select id, timestamp, level, message, context from log_entries
     ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by timestamp desc, id desc limit ${limit + 1}`,
    values,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    outcome: 'found',
    entries: page.map(toEntry),
    nextCursor: rows.length > limit && last !== undefined ? writeCursor(last) : null,
  };
}

function conditionsOf(
  filter: EntryFilter,
  after: Place | null,
): { conditions: string[]; values: SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (condition: (...places: string[]) => string, ...added: SqlValue[]) => {
    const places = added.map((value) => `$${values.push(value)}`);
    conditions.push(condition(...places));
  };
  const { level, contains, requestId, from, to } = filter;
  // Errors alone are the common case and have an index that one equality can use; at least debug is all of them.
  if (level === 'error') add((place) => `level = ${place}`, level);
  else if (level !== undefined && level !== 'debug') {
    add((place) => `level = any(${place}::text[])`, LEVELS.slice(LEVELS.indexOf(level)));
  }
  if (requestId !== undefined) add((place) => `request_id = ${place}`, storable(requestId));
  if (from !== undefined) add((place) => `timestamp >= ${place}`, from);
  if (to !== undefined) add((place) => `timestamp < ${place}`, to);
  if (contains !== undefined && contains !== '') {
    add(
      (place) => `strpos(lower(message || ' ' || context::text), lower(${place}::text)) > 0`,
      storable(contains),
    );
  }
  if (after !== null) {
    add((time, id) => `(timestamp, id) < (${time}::timestamptz, ${id}::bigint)`, after.timestamp, after.id);
  }
  return { conditions, values };
}

/** PostgreSQL refuses these as values; entries hold the same sign in their place. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

function toEntry({ timestamp, level, message, context }: EntryRow): LogEntry {
  return { timestamp: timestamp.toISOString(), level, message, context };
}

function writeCursor({ timestamp, id }: Place): string {
  return btoa(`${timestamp.getTime()}.${id}`).replaceAll('=', '');
}

/** Null for anything that writeCursor has not written: it came over the wire. */
function readCursor(cursor: string): Place | null {
  if (!/^[A-Za-z0-9]{4,60}$/.test(cursor)) return null;
  let text: string;
  try {
    text = atob(cursor);
  } catch {
    return null;
  }
  const match = /^(\d{1,14})\.(\d{1,18})$/.exec(text);
  if (match === null) return null;
  return { timestamp: new Date(Number(match[1])), id: BigInt(match[2] ?? '0') };
}
