import type { SqlValue, Statements } from '../../ports/database.ts';
import type { LogContext, LogEntry, LogLevel } from '../../ports/log.ts';

/** What is left out does not narrow the search. */
export interface EntryFilter {
  /** At least this level. */
  readonly level?: LogLevel | undefined;
  /** In the message or in the context, whatever the case of its letters. */
  readonly contains?: string | undefined;
  readonly requestId?: string | undefined;
  /** One of ours, or `shared` for lines that name none of them. */
  readonly service?: string | undefined;
  readonly companyId?: string | undefined;
  /** Not before. */
  readonly from?: Date | undefined;
  /** Before. */
  readonly to?: Date | undefined;
  /** At most MAX_ENTRIES, which a larger number means too. */
  readonly limit?: number | undefined;
  /** The cursor of the page before. */
  readonly after?: string | undefined;
}

type FoundEntries =
  /** Newest first. The cursor is null where nothing older is left. */
  | { readonly outcome: 'found'; readonly entries: readonly LogEntry[]; readonly nextCursor: string | null }
  | { readonly outcome: 'invalid-cursor' };

export const MAX_ENTRIES = 500;
const DEFAULT_ENTRIES = 100;
/** Some lines name an external service under the same word. */
export const SERVICES: readonly string[] = ['gateway', 'backend', 'ai-service'];
export const SHARED_SERVICE = 'shared';
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
  const { level, contains, requestId, service, companyId, from, to } = filter;
  // Errors alone are the common case and have an index that one equality can use; at least debug is all of them.
  if (level === 'error') add((place) => `level = ${place}`, level);
  else if (level !== undefined && level !== 'debug') {
    add((place) => `level = any(${place}::text[])`, LEVELS.slice(LEVELS.indexOf(level)));
  }
  if (requestId !== undefined) add((place) => `request_id = ${place}`, storable(requestId));
  if (service === SHARED_SERVICE) {
    add((place) => `coalesce(context ->> 'service', '') <> all(${place}::text[])`, SERVICES);
  } else if (service !== undefined) add((place) => `context ->> 'service' = ${place}`, storable(service));
  if (companyId !== undefined) add((place) => `context ->> 'companyId' = ${place}`, storable(companyId));
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

/** Lines of the log that say the same, of the same service. */
export interface ErrorGroup {
  /** One of ours; empty where a line does not say it: of what all services of a process share. */
  readonly service: string;
  readonly message: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** Of the last line that has one. */
  readonly sampleRequestId: string | null;
  /** What the last line that says one gives as its reason. */
  readonly sampleReason: string | null;
}

/** What a group is made of: the newest so many lines. Older ones are not counted, and the answer stays quick. */
const MOST_GROUPED_LINES = 20_000;
const MOST_GROUPS = 200;
/** The one that was seen last comes first. */
export async function groupErrors(
  statements: Statements,
  level: 'warn' | 'error',
  since: Date,
): Promise<readonly ErrorGroup[]> {
  return await statements.query<ErrorGroup>(
    `select case when context ->> 'service' = any($3::text[]) then context ->> 'service' else '' end as service,
       message, count(*)::integer as count, min(timestamp) as "firstSeenAt", max(timestamp) as "lastSeenAt",
       (array_agg(request_id order by timestamp desc, id desc) filter (where request_id is not null))[1]
         as "sampleRequestId",
       left((array_agg(reason order by timestamp desc, id desc) filter (where reason is not null))[1], 500)
         as "sampleReason"
     from (
       select id, timestamp, message, context, request_id,
         coalesce(context -> 'error' ->> 'message', context ->> 'reason') as reason
       from log_entries where level = $1 and timestamp >= $2
       order by timestamp desc, id desc limit ${MOST_GROUPED_LINES}) as line
     group by 1, 2 order by max(timestamp) desc, message limit ${MOST_GROUPS}`,
    [level, since, SERVICES],
  );
}

export interface TargetFailure {
  readonly targetId: string;
  /** In a word, as connect, late or 503. */
  readonly reason: string;
  readonly failedAt: Date;
  /** Of the target since then, among the newest failures of all targets that are read. */
  readonly count: number;
}

const MOST_FAILURES_READ = 2_000;

/** The last failure of each model target since then, and how many there were, by what its callers logged. */
export async function lastFailures(statements: Statements, since: Date): Promise<readonly TargetFailure[]> {
  return await statements.query<TargetFailure>(
    `select distinct on ("targetId") *, count(*) over (partition by "targetId")::int as count from (
       select context ->> 'targetId' as "targetId", left(coalesce(context ->> 'reason', 'unknown'), 200) as reason,
         timestamp as "failedAt"
       from log_entries where level = 'warn' and timestamp >= $1 and message = 'a model target failed'
       order by timestamp desc limit ${MOST_FAILURES_READ}) as failure
     where "targetId" is not null order by "targetId", "failedAt" desc`,
    [since],
  );
}
