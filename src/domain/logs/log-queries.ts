import type { SqlValue, Statements } from '../../ports/database.ts';
import type { LogContext, LogEntry, LogLevel } from '../../ports/log.ts';

/** Omitted fields match everything. */
export interface EntryFilter {
  /** The lowest level. */
  readonly level?: LogLevel | undefined;
  /** Must occur in the message or the context, ignoring case. */
  readonly contains?: string | undefined;
  readonly requestId?: string | undefined;
  /** One of our services, or `shared` for lines that name none of them. */
  readonly service?: string | undefined;
  readonly companyId?: string | undefined;
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** Larger values than MAX_ENTRIES count as MAX_ENTRIES. */
  readonly limit?: number | undefined;
  /** The cursor of the previous page. */
  readonly after?: string | undefined;
}

type FoundEntries =
  /** Newest first. The cursor is null on the last page. */
  | { readonly outcome: 'found'; readonly entries: readonly LogEntry[]; readonly nextCursor: string | null }
  | { readonly outcome: 'invalid-cursor' };

export const MAX_ENTRIES = 500;
const DEFAULT_ENTRIES = 100;
/** Our own services; in some lines the field `service` names an external one. */
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

/** A page of stored entries, newest first. */
export async function findEntries(database: Statements, filter: EntryFilter): Promise<FoundEntries> {
  const after = filter.after === undefined ? null : readCursor(filter.after);
  if (filter.after !== undefined && after === null) return { outcome: 'invalid-cursor' };
  const limit = Math.max(1, Math.min(Math.trunc(filter.limit ?? DEFAULT_ENTRIES), MAX_ENTRIES));
  const { conditions, values } = conditionsOf(filter, after);
  // Reads one more row to find out whether there is a next page.
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
  // Errors only is the common case, and an equality can use its index. `debug` matches all levels.
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

/** PostgreSQL rejects these characters in values; stored entries contain the same replacement character. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

function toEntry({ timestamp, level, message, context }: EntryRow): LogEntry {
  return { timestamp: timestamp.toISOString(), level, message, context };
}

function writeCursor({ timestamp, id }: Place): string {
  return btoa(`${timestamp.getTime()}.${id}`).replaceAll('=', '');
}

/** Null if `writeCursor` did not write it: clients can send anything. */
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

/** Log lines with the same message and service. */
export interface ErrorGroup {
  /** One of our services; empty if the line names none, as in code that all services of a process share. */
  readonly service: string;
  readonly message: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** From the last line that has one. */
  readonly sampleRequestId: string | null;
  /** The reason in the last line that has one. */
  readonly sampleReason: string | null;
}

/** Groups are made from this many of the newest lines. Older ones are not counted, which keeps the query fast. */
const MOST_GROUPED_LINES = 20_000;
const MOST_GROUPS = 200;
/** The last seen group comes first. */
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
  /** In a word, such as connect, late or 503. */
  readonly reason: string;
  readonly failedAt: Date;
  /** Failures of this target since then, among the newest MOST_FAILURES_READ of all targets. */
  readonly count: number;
}

const MOST_FAILURES_READ = 2_000;

/** The last failure of each model target since then and the number of failures, from the log lines of its callers. */
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
