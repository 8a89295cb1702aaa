import type { Clock } from '../../../ports/clock.ts';
import type { Statements } from '../../../ports/database.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import type { ColumnType, TableFiles } from '../../../ports/table-files.ts';

/**
 * Exports calls for analytics: one Parquet file per hour, `day=2026-11-15/hour=13/calls.parquet`, by the time in the call's
 * id.
 *
 * A file has all calls of its hour that were in the database when it was written, and replaces the previous one atomically.
 * So an interrupted run leaves only complete files, the next run continues where it stopped, and each call is in exactly one
 * file. Late calls, from a journal or a long stream, are detected by the number of rows. Rows that change after their export,
 * as when withheld usage is posted, are detected by the sum of all charges, which is stored in the file; of hours before those
 * that a run compares, by the time at which withheld usage was posted. Files with fewer columns, of an earlier version, are
 * written again as far as a run compares them. Retention removes rows with their partition, but a file
 * never gets fewer rows than it has.
 */
interface ExportParts {
  readonly database: Statements;
  readonly clock: Pick<Clock, 'now'>;
  readonly files: TableFiles;
  /** Called after each file that was written. */
  readonly onFile?: (file: ExportedFile) => void;
  /** For tests: rows per query, and per row group of a file. */
  readonly pageRows?: number;
  readonly groupRows?: number;
}

interface ExportedFile {
  readonly path: string;
  readonly calls: number;
}

interface ExportedCalls {
  readonly files: number;
  readonly calls: number;
  /** Hours whose file already had all their calls as they are. */
  readonly unchanged: number;
}

const HOUR_MS = 3_600_000;
/** A call belongs to the hour in which it started; most have ended this long after that hour. */
const SETTLED_AFTER_MS = 15 * 60_000;
/** How far before the newest day hours are compared again: calls may wait in the journal of a host for days. */
const LATE_MS = 7 * 24 * HOUR_MS;
const PAGE = 10_000;
const ROWS_A_GROUP = 50_000;

const COLUMNS = {
  id: ['id::text', 'STRING'],
  created_at: ['started_at', 'TIMESTAMP'],
  company_id: ['company_id::text', 'STRING'],
  key_id: ['key_id::text', 'STRING'],
  payer_id: ['payer_id::text', 'STRING'],
  request_id: ['request_id', 'STRING'],
  endpoint: ['endpoint', 'STRING'],
  model: ['alias', 'STRING'],
  target_id: ['target_id', 'STRING'],
  outcome: ['outcome', 'STRING'],
  reason: ['reason', 'STRING'],
  status: ['http_status', 'INT32'],
  stream: ['streamed', 'BOOLEAN'],
  prompt_tokens: ['prompt_tokens', 'INT64'],
  cached_tokens: ['cached_tokens', 'INT64'],
  cache_write_tokens: ['cache_write_tokens', 'INT64'],
  completion_tokens: ['completion_tokens', 'INT64'],
  charge_micro: ['charge_micro', 'INT64'],
  first_byte_ms: ['first_byte_ms', 'INT32'],
  duration_ms: ['duration_ms', 'INT32'],
  end_user: ['end_user', 'STRING'],
  // Separated by commas: tags of the header contain none.
  tags: ["array_to_string(tags, ',')", 'STRING'],
  project: ['project', 'STRING'],
  tries: ['coalesce(tries, 1)', 'INT32'],
  served_by: ['served_by', 'STRING'],
  cost_micro: ['cost_micro', 'INT64'],
  own_key: ['coalesce(own_key, false)', 'BOOLEAN'],
  cache_hit: ['coalesce(cache_hit, false)', 'BOOLEAN'],
  over_mcp: ['coalesce(over_mcp, false)', 'BOOLEAN'],
  count: ['coalesce(count, 1)', 'INT32'],
  // New columns come last, and a file has those of the version that wrote it: readers take them by name.
  tier: ['tier', 'STRING'],
  price_factor_millionths: ['coalesce(price_factor_millionths, 1000000)', 'INT32'],
  completion_factor_millionths: [
    'coalesce(completion_factor_millionths, price_factor_millionths, 1000000)',
    'INT32',
  ],
  hour_write_tokens: ['hour_write_tokens', 'INT64'],
  hour_write_factor_millionths: ['hour_write_factor_millionths', 'INT32'],
  surcharge_micro: ['coalesce(surcharge_micro, 0)', 'INT64'],
  charge_share_millionths: ['coalesce(charge_share_millionths, 1000000)', 'INT32'],
  unpriced: ["array_to_string(unpriced, ',')", 'STRING'],
} as const satisfies Record<string, readonly [sql: string, type: ColumnType]>;

/** Their order is that of the file. */
export const COLUMN_NAMES = Object.keys(COLUMNS);

type ColumnName = keyof typeof COLUMNS;
type CallRow = Readonly<Record<ColumnName, unknown>> & { readonly id: string };

/**
 * Exports from the hour of `from`, or if it is null from a week before the newest exported day, up to the last hour that is
 * over.
 */
export async function exportCalls(parts: ExportParts, from: Date | null): Promise<ExportedCalls> {
  const { database, clock } = parts;
  const end = clock.now() - SETTLED_AFTER_MS;
  const first = from?.getTime() ?? (await whereToGoOn(parts));
  let [files, calls, unchanged] = [0, 0, 0];
  if (first === null) return { files, calls, unchanged };
  const count = (exported: ExportedHour) => {
    if (exported === 'unchanged') unchanged += 1;
    else if (exported !== 'empty') {
      files += 1;
      calls += exported.calls;
      parts.onFile?.(exported);
    }
  };
  let hourMs = first - (first % HOUR_MS);
  for (const changedMs of from === null ? await changedHours(database, hourMs) : []) {
    count(await exportHour(parts, changedMs));
  }
  while (hourMs + HOUR_MS <= end) {
    const exported = await exportHour(parts, hourMs);
    count(exported);
    // Hours without calls are skipped at once.
    const next = exported === 'empty' ? await momentOfNextCall(database, hourMs + HOUR_MS) : hourMs + HOUR_MS;
    if (next === null) break;
    hourMs = next - (next % HOUR_MS);
  }
  return { files, calls, unchanged };
}

async function whereToGoOn({ database, files }: ExportParts): Promise<number | null> {
  const days = (await files.folders()).filter((name) => /^day=\d{4}-\d\d-\d\d$/.test(name)).sort();
  const newest = days.at(-1);
  if (newest === undefined) return await momentOfNextCall(database, 0);
  return Math.max(0, Date.parse(`${newest.slice('day='.length)}T00:00:00Z`) - LATE_MS);
}

/**
 * Hours before the first that is compared in any case, in which a call was charged for withheld usage since then. What was
 * posted before was found by an earlier run.
 */
async function changedHours(database: Statements, firstMs: number): Promise<readonly number[]> {
  const rows = await database.query<{ id: string }>(
    `select call_id as id from withheld_usage
     where resolution = 'POSTED' and resolved_at >= $1 and call_id < $2 order by call_id`,
    [new Date(firstMs), leastIdAt(firstMs)],
  );
  return [...new Set(rows.map(({ id }) => momentOf(id)).map((ms) => ms - (ms % HOUR_MS)))];
}

/** When a call began, by its id. */
function momentOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

async function momentOfNextCall(database: Statements, fromMs: number): Promise<number | null> {
  const [row] = await database.query<{ id: string }>(
    'select id from calls where id >= $1 order by id limit 1',
    [leastIdAt(fromMs)],
  );
  return row === undefined ? null : momentOf(row.id);
}

type ExportedHour = ExportedFile | 'empty' | 'unchanged';

async function exportHour(parts: ExportParts, hourMs: number): Promise<ExportedHour> {
  const [from, to] = [leastIdAt(hourMs), leastIdAt(hourMs + HOUR_MS)];
  const [counted] = await parts.database.query<{ calls: bigint; mark: string }>(
    `select count(*) as calls, format('charge_micro=%s count=%s columns=${COLUMN_NAMES.length}', sum(charge_micro), sum(coalesce(count, 1))) as mark
     from calls where id >= $1 and id < $2`,
    [from, to],
  );
  const calls = Number(counted?.calls ?? 0);
  if (counted === undefined || calls === 0) return 'empty';
  const moment = new Date(hourMs).toISOString();
  const path = `day=${moment.slice(0, 10)}/hour=${moment.slice(11, 13)}/calls.parquet`;
  const content = await parts.files.contentOf(path);
  if (content.rows > calls || (content.rows === calls && content.mark === counted.mark)) return 'unchanged';
  // The mark is read before the rows: one that changes meanwhile is found by the next run.
  return { path, calls: await parts.files.write(path, TYPES, groupsOf(parts, { from, to }), counted.mark) };
}

const TYPES: Readonly<Record<string, ColumnType>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, [, type]]) => [name, type]),
);

async function* groupsOf(
  { database, pageRows = PAGE, groupRows = ROWS_A_GROUP }: ExportParts,
  { from, to }: { readonly from: string; readonly to: string },
): AsyncGenerator<readonly CallRow[], void, undefined> {
  let rows: CallRow[] = [];
  for (let after: string | null = null; ; ) {
    const page: readonly CallRow[] = await readPage(database, { from, to, after, limit: pageRows });
    rows.push(...page);
    const isLast = page.length < pageRows;
    if (rows.length >= groupRows || (isLast && rows.length > 0)) {
      yield rows;
      rows = [];
    }
    if (isLast) return;
    after = page.at(-1)?.id ?? null;
  }
}

const SELECTED = Object.entries(COLUMNS)
  .map(([name, [sql]]) => `${sql} as "${name}"`)
  .join(', ');

interface PageOfCalls {
  readonly from: string;
  readonly to: string;
  readonly after: string | null;
  readonly limit: number;
}

async function readPage(
  database: Statements,
  { from, to, after, limit }: PageOfCalls,
): Promise<readonly CallRow[]> {
  return await database.query<CallRow>(
    `select ${SELECTED} from calls
     where id >= $1 and id < $2 and ($3::uuid is null or id > $3) order by id limit $4`,
    [from, to, after, limit],
  );
}
