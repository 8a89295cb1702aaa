import type { Database, Statements, Transaction } from '../../../ports/database.ts';
import { addSubjectSpending, purgeSubjectMonths } from '../../credits/budgets/budget-levels.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';
import { rangeOf, spanOf, type UsageRange, widenSpan } from './usage-range.ts';
import {
  monthsDone,
  plannedForCompany,
  USAGE_SUMS,
  type UsageDimension,
  type UsageGroup,
  wholeMonths,
} from './usage-report.ts';

/** Attributes of calls besides their key and model. A report is by at most one of them. */
export type SubjectDimension = 'project' | 'user' | 'tag';

const KINDS = { project: 'PROJECT', user: 'END_USER', tag: 'TAG' } as const;

export function isSubjectDimension(
  dimension: UsageDimension | SubjectDimension,
): dimension is SubjectDimension {
  return dimension in KINDS;
}

export interface SubjectGroup extends UsageGroup {
  /** The project, end user or tag; `(other)` for names beyond the limit of a day. */
  readonly subject: string;
}

interface SubjectQuestion extends UsageRange {
  readonly companyId: string;
  /** The usage of one key; null is the whole company. */
  readonly keyId: string | null;
  readonly subject: SubjectDimension;
  readonly by: readonly UsageDimension[];
}

/** The whole days that a period touches: sums by project, end user and tag are by day. */
function wholeDays(range: UsageRange): UsageRange {
  return rangeOf(widenSpan(spanOf(range)));
}

const MOST_GROUPS = 100_000;
/** For a report that the sums of months cannot serve: a quarter of a second on PostgreSQL. */
const MOST_ROWS_READ = 250_000;

interface SubjectReport {
  /** The days covered: fewer than requested if a company has too many rows to read at once. */
  readonly range: UsageRange;
  readonly groups: readonly SubjectGroup[];
}

/**
 * Reports usage by project, end user or tag, from the rows that every commit updates: a finished call is included at once.
 * Calls without one are in no row. A call with several tags counts for each. Ordered by day, then by charge, the highest
 * first.
 *
 * For a whole company, by model or by day or neither, months that are over are read from their sums. For other reports the
 * newest days are read, as many as MOST_ROWS_READ allows, at least one: the range shows which.
 */
export async function subjectUsage(
  database: Database,
  question: SubjectQuestion,
  mostRowsRead = MOST_ROWS_READ,
): Promise<SubjectReport> {
  return await plannedForCompany(database, (statements) => readUsage(statements, question, mostRowsRead));
}

async function readUsage(
  statements: Statements,
  question: SubjectQuestion,
  mostRowsRead: number,
): Promise<SubjectReport> {
  const { keyId, by } = question;
  const range = wholeDays(question);
  const hasMonths = keyId === null && !by.includes('key') && !(by.includes('day') && by.includes('model'));
  if (hasMonths) return { range, groups: await readMonths(statements, question, range) };
  const from = range.from === range.to ? null : await firstDayRead(statements, question, range, mostRowsRead);
  const covered = from === null ? range : { ...range, from };
  return { range: covered, groups: await readDays(statements, question, covered) };
}

/** `rows` selects rows with the columns of usage_subject_days, for $1 and $2. */
function groupsSql(rows: string, by: readonly UsageDimension[]): string {
  const shown = (dimension: UsageDimension, column: string) => (by.includes(dimension) ? column : 'null');
  const sums = USAGE_SUMS.map((column) => `total(${column}) as "${camelOf(column)}"`).join(', ');
  // Columns that are null in every row are omitted: each column of a group is hashed and compared for each row.
  const groups = [
    1,
    ...(['model', 'day', 'key'] as const).flatMap((one, index) => (by.includes(one) ? [index + 2] : [])),
  ];
  return `select subject, ${shown('model', 'alias')}::text as model, ${shown('day', "to_char(day, 'YYYY-MM-DD')")}::text as day,
      ${shown('key', 'key_id')}::text as "keyId", ${sums}
    from (${rows}) as rows
    group by ${groups.join(', ')} order by 3 nulls first, "chargeMicro" desc, calls desc, 1, 2, 4 limit ${MOST_GROUPS}`;
}

const NUMBERS = USAGE_SUMS.join(', ');
const OF_DAYS = `select subject, alias, day, key_id, ${NUMBERS} from usage_subject_days where company_id = $1 and kind = $2`;

/** The alias of a month's rows over all models. No alias can have this name. */
export const ALL_MODELS = '*';

function aliasOfRows(by: readonly UsageDimension[]): string {
  if (by.includes('day')) return "= ''";
  return by.includes('model') ? `> '' and alias <> '${ALL_MODELS}'` : `= '${ALL_MODELS}'`;
}

async function readMonths(
  statements: Statements,
  { companyId, subject, by }: SubjectQuestion,
  { from, to }: UsageRange,
): Promise<readonly SubjectGroup[]> {
  const whole = wholeMonths(from, to);
  const isByModel = by.includes('model');
  // Month by month: a range would also read the rows of all models and days in between.
  const ofMonths = `select subject, alias, day, null, ${NUMBERS} from usage_subject_months where company_id = $1 and kind = $2`;
  const rows = [
    `${OF_DAYS} and day = any (array(select day from other_days${isByModel ? '' : ' where not is_added_up'}))`,
    `${ofMonths} and alias ${aliasOfRows(by)} and month = any (array(select month::date
      from generate_series($5::date::timestamp, (select until from done) - interval '1 month', interval '1 month') as month))`,
  ];
  if (!isByModel) {
    rows.push(`${ofMonths} and alias = ''
      and month = any (array(select distinct date_trunc('month', day)::date from other_days where is_added_up))
      and day = any (array(select day from other_days where is_added_up))`);
  }
  return await statements.query<SubjectGroup>(
    `with ${monthsDone('known.has_subjects')}, ${OTHER_DAYS} ${groupsSql(rows.join(' union all '), by)}`,
    [companyId, KINDS[subject], from, to, whole.from, whole.before],
  );
}

/**
 * The days outside the whole months that are read from sums. If the month of such a day is added up, there are rows by day
 * without model and key.
 */
const OTHER_DAYS = `
  other_days as materialized (
    select day::date as day, exists (
      select 1 from usage_months_done as known
      where known.company_id = $1 and known.month = date_trunc('month', day)::date and known.has_subjects) as is_added_up
    from generate_series($3::date::timestamp, $4::date::timestamp, interval '1 day') as day
    where day < $5::date or day >= (select until from done))`;

async function readDays(
  statements: Statements,
  { companyId, keyId, subject, by }: SubjectQuestion,
  { from, to }: UsageRange,
): Promise<readonly SubjectGroup[]> {
  const rows = `${OF_DAYS} and day between $3::date and $4::date and ($5::uuid is null or key_id = $5)`;
  return await statements.query<SubjectGroup>(groupsSql(rows, by), [
    ...[companyId, KINDS[subject], from, to, keyId],
  ]);
}

/** Null if all days can be read. */
async function firstDayRead(
  statements: Statements,
  { companyId, subject }: SubjectQuestion,
  { from, to }: UsageRange,
  mostRowsRead: number,
): Promise<string | null> {
  const [row] = await statements.query<{ first: string }>(
    `select to_char(least(day + 1, $4::date), 'YYYY-MM-DD') as first from usage_subject_days
     where company_id = $1 and kind = $2 and day between $3::date and $4::date
     order by day desc offset $5 limit 1`,
    [companyId, KINDS[subject], from, to, mostRowsRead],
  );
  return row?.first ?? null;
}

function camelOf(column: string): string {
  return column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Sets for how many projects, end users and tags each a day of a company has rows; for all processes on the database. */
export async function setNamesPerDay(statements: Statements, perDay: number): Promise<void> {
  await statements.query(
    `insert into usage_subject_limit as present (per_day) values ($1)
     on conflict (only_row) do update set per_day = excluded.per_day where present.per_day <> excluded.per_day`,
    [perDay],
  );
}

/**
 * Adds a further charge of a call to the sums of its project, end user and tags. Does nothing if the call is past its
 * retention.
 */
export async function addToSubjects(
  transaction: Transaction,
  callId: string,
  chargeMicro: bigint,
): Promise<void> {
  await transaction.query(
    `update usage_subject_days as sums set charge_micro = sums.charge_micro + $2 * names
     from (select company_id, key_id, alias, day, kind, case when exists (select 1 from usage_subject_days as own
           where own.company_id = call.company_id and own.kind = call.kind and own.day = call.day
             and own.key_id = call.key_id and own.alias = call.alias and own.subject = call.name)
           then name else '(other)' end as subject, count(*) as names
       from (select company_id, key_id, alias, (started_at at time zone 'utc')::date as day, kind, name from calls,
           lateral (select 'PROJECT' as kind, project as name where project is not null
             union all select 'END_USER', end_user where end_user is not null
             union all select 'TAG', tag from unnest(tags) as tag) as carried
         where id = $1) as call
       -- Several tags may share a row.
       group by 1, 2, 3, 4, 5, 6) as call
     where sums.company_id = call.company_id and sums.kind = call.kind and sums.day = call.day
       and sums.key_id = call.key_id and sums.alias = call.alias and sums.subject = call.subject`,
    [callId, chargeMicro],
  );
  const [call] = await transaction.query<CalledFor>(
    `select company_id as "companyId", project, end_user as "endUser",
       to_char(started_at at time zone 'utc', 'YYYY-MM-01') as month
     from calls where id = $1 and key_id is not null`,
    [callId],
  );
  if (call === undefined) return;
  const { companyId, month, project, endUser } = call;
  const add = { companyId, month, chargeMicro };
  if (project !== null) await addSubjectSpending(transaction, { ...add, scope: 'PROJECT', subject: project });
  if (endUser !== null)
    await addSubjectSpending(transaction, { ...add, scope: 'END_USER', subject: endUser });
}

interface CalledFor {
  readonly companyId: string;
  readonly project: string | null;
  readonly endUser: string | null;
  readonly month: string;
}

const PURGED_AT_ONCE = 1_000;

/** Removes sums from before the last `keepMonths` whole months; 0 removes none. Returns the number of rows. */
export async function purgeSubjectSums(
  database: Database,
  {
    keepMonths,
    nowMs,
    signal,
  }: { readonly keepMonths: number; readonly nowMs: number; readonly signal?: AbortSignal },
): Promise<number> {
  if (keepMonths === 0) return 0;
  const now = new Date(nowMs);
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - keepMonths))
    .toISOString()
    .slice(0, 10);
  const chunks = { values: [before], chunkRows: PURGED_AT_ONCE, signal };
  const days = await changeInChunks(database, { sql: PURGE_DAYS, ...chunks });
  const counts = await changeInChunks(database, { sql: PURGE_COUNTS, ...chunks });
  const finished = await changeInChunks(database, { sql: PURGE_FINISHED, ...chunks });
  const months = await purgeSubjectMonths(database, before, signal);
  return days.rows + counts.rows + finished.rows + months;
}

const PURGE_DAYS = `delete from usage_subject_days where ctid = any (array(
  select ctid from usage_subject_days where day < $1::date limit ${PURGED_AT_ONCE} for update skip locked))`;
const PURGE_COUNTS = `delete from usage_subject_counts where ctid = any (array(
  select ctid from usage_subject_counts where day < $1::date limit ${PURGED_AT_ONCE} for update skip locked))`;
const PURGE_FINISHED = `delete from usage_subject_months where ctid = any (array(
  select ctid from usage_subject_months where month < $1::date limit ${PURGED_AT_ONCE} for update skip locked))`;
