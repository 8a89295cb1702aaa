import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import { postMissingCash } from '../../payments/cash/cash.ts';
import { readForLong } from '../audit-check.ts';
import { readTotals, type Totals, totalsDifference } from '../credit-totals.ts';
import type { Difference } from '../difference.ts';
import { MONEY_CHECKS } from '../money-checks.ts';
import { planCreditDifferences } from '../plan-credits-check.ts';
import { FOREIGN_CHARGES, PROVIDER_DIFFERENCES } from './provider-differences.ts';
import { type AuditRange, ProviderPaused } from './read-object.ts';
import { LISTINGS, type Listing, type ReadParts, readPage, readUnlisted } from './read-provider.ts';

/**
 * An audit of money: reads the provider's objects of a time range, page by page, and compares them with ours in both
 * directions. It includes the money checks that need only the books. The result is stored as a report.
 */
export interface ProviderAuditParts extends ReadParts {
  /** False if no provider is configured: then only the books are checked. */
  readonly hasProvider?: boolean;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly log: Log;
}

export interface AuditReport {
  readonly id: string;
  readonly from: Date;
  readonly to: Date;
  readonly checkedAt: Date;
  /** The number of objects read from the provider. */
  readonly objectsRead: bigint;
  /** Charges of customers that are not companies of ours; they are not compared. */
  readonly foreignCharges: bigint;
  readonly differences: readonly Difference[];
  /** True if there are more differences than these. */
  readonly isCut: boolean;
  readonly totals: Totals;
}

type AuditRun =
  | { readonly outcome: 'done'; readonly report: AuditReport }
  /** The provider did not answer, or there is more than one run may read. Running it again continues it. */
  | { readonly outcome: 'paused'; readonly message: string }
  | { readonly outcome: 'invalid'; readonly message: string };

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Events arrive within seconds, and missed ones are read every ten minutes. Anything newer is left to the next audit. */
const SETTLED_AFTER_MS = 30 * MINUTE_MS;
/** Invoices may be paid weeks after they were created. */
const DAILY_RANGE_MS = 35 * DAY_MS;
const LONGEST_RANGE_MS = 800 * DAY_MS;
/** 200,000 objects, which take a few minutes at about 200 ms per response. */
const PAGES_PER_RUN = 2_000;
const MOST_DIFFERENCES = 1_000;
const AUDITS_STORED = 60;
/** A paused audit that was not continued for this long is deleted, with the objects it has read. */
const PAUSED_FOR_MS = 7 * DAY_MS;

/**
 * Audits a requested range, up to half an hour ago. A paused audit of the same range is continued; if the requested end is
 * more recent, the paused audit ends earlier and is continued for a day.
 */
export async function auditRange(
  parts: ProviderAuditParts,
  range: { readonly from: Date; readonly to: Date },
  signal?: AbortSignal,
): Promise<AuditRun> {
  const now = parts.clock.now();
  const to = new Date(Math.min(range.to.getTime(), now - SETTLED_AFTER_MS));
  const from = new Date(Math.min(range.from.getTime(), to.getTime()));
  if (Number.isNaN(from.getTime()) || range.from > range.to) {
    return { outcome: 'invalid', message: 'from must be a time that is not after to.' };
  }
  if (to.getTime() - from.getTime() > LONGEST_RANGE_MS) {
    return { outcome: 'invalid', message: 'The range is longer than 800 days: audit it in parts.' };
  }
  const earliestTo = range.to > to ? new Date(to.getTime() - DAY_MS) : to;
  return await run(parts, await openAudit(parts, { from, to, earliestTo, isDaily: false }), signal);
}

/** The scheduled audit: continues the paused one, or starts one a day. Null if the last one finished within 22 hours. */
export async function auditDaily(parts: ProviderAuditParts, signal?: AbortSignal): Promise<AuditRun | null> {
  const now = parts.clock.now();
  const [open] = await parts.database.query<OpenAudit>(
    `select ${OPEN_COLUMNS} from audits where is_daily and status = 'RUNNING' and started_at > $1
     order by started_at desc limit 1`,
    [new Date(now - 3 * DAY_MS)],
  );
  if (open !== undefined) return await run(parts, open, signal);
  const [last] = await parts.database.query<{ checkedAt: Date }>(
    `select checked_at as "checkedAt" from audits where is_daily and status = 'DONE' and checked_at > $1 limit 1`,
    [new Date(now - DAY_MS + 2 * 60 * MINUTE_MS)],
  );
  if (last !== undefined) return null;
  const to = new Date(now - SETTLED_AFTER_MS);
  const from = new Date(to.getTime() - DAILY_RANGE_MS);
  return await run(parts, await openAudit(parts, { from, to, earliestTo: to, isDaily: true }), signal);
}

interface OpenAudit extends AuditRange {
  readonly listing: Listing | null;
  readonly afterId: string | null;
}

const OPEN_COLUMNS = `id, from_at as "from", to_at as "to", listing, after_id as "afterId"`;

interface ProviderAuditParams {
  readonly from: Date;
  readonly to: Date;
  /** A paused audit is continued if its end is between this and `to`. */
  readonly earliestTo: Date;
  readonly isDaily: boolean;
}

async function openAudit(
  { database, secrets, clock }: ProviderAuditParts,
  { from, to, earliestTo, isDaily }: ProviderAuditParams,
): Promise<OpenAudit> {
  const now = new Date(clock.now());
  const [open] = await database.query<OpenAudit>(
    `select ${OPEN_COLUMNS} from audits where status = 'RUNNING' and from_at = $1 and to_at between $4 and $2
       and is_daily = $3
     order by started_at desc limit 1`,
    [from, to, isDaily, earliestTo],
  );
  if (open !== undefined) return open;
  const id = secrets.newId();
  await database.query(
    `insert into audits (id, from_at, to_at, is_daily, status, listing, started_at, updated_at)
     values ($1, $2, $3, $4, 'RUNNING', $5, $6, $6)`,
    [id, from, to, isDaily, LISTINGS[0], now],
  );
  return { id, from, to, listing: LISTINGS[0], afterId: null };
}

async function run(
  parts: ProviderAuditParts,
  audit: OpenAudit,
  signal: AbortSignal | undefined,
): Promise<AuditRun> {
  const { log } = parts;
  try {
    const isRead = parts.hasProvider === false || (await readAll(parts, audit, signal));
    if (!isRead) return await pause(parts, audit, 'more is to be read than one run reads');
  } catch (error) {
    if (!(error instanceof ProviderPaused)) throw error;
    return await pause(parts, audit, error.message);
  }
  await postMissingCash(parts.database);
  const report = await finish(parts, audit);
  const { differences, objectsRead, from, to } = report;
  const figures = { auditId: report.id, from, to, objectsRead, differences: differences.length };
  if (differences.length === 0) log.info('the books agree with the payment provider', figures);
  else {
    const kinds = [...new Set(differences.map(({ kind }) => kind))];
    log.error(
      'the books differ from the payment provider: turnpike audit --provider and the Audit page name the remedies',
      {
        ...figures,
        kinds,
      },
    );
  }
  return { outcome: 'done', report };
}

async function pause(
  { database, clock, log }: ProviderAuditParts,
  { id }: OpenAudit,
  message: string,
): Promise<AuditRun> {
  await database.query('update audits set paused_because = $2, updated_at = $3 where id = $1', [
    id,
    message.slice(0, 500),
    new Date(clock.now()),
  ]);
  log.warn('the audit of payments is paused; the next run continues it', { auditId: id, message });
  return { outcome: 'paused', message };
}

/** False if this run has read as much as one run may. */
async function readAll(
  parts: ProviderAuditParts,
  audit: OpenAudit,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let after = audit.afterId;
  const first = audit.listing === null ? LISTINGS.length : LISTINGS.indexOf(audit.listing);
  let pages = 0;
  for (const [at, listing] of LISTINGS.entries()) {
    if (at < first) continue;
    const next = LISTINGS[at + 1] ?? null;
    for (;;) {
      signal?.throwIfAborted();
      const read =
        listing === 'unlisted'
          ? { after: null, count: await readUnlisted(parts, audit, signal) }
          : await readPage(parts, audit, listing, after, signal);
      after = read.after;
      await progress(parts, audit.id, after === null ? next : listing, after, read.count);
      pages += 1;
      if (after === null) break;
      if (pages >= PAGES_PER_RUN) return false;
    }
  }
  return true;
}

async function progress(
  { database, clock }: ProviderAuditParts,
  id: string,
  listing: Listing | null,
  after: string | null,
  count: number,
): Promise<void> {
  await database.query(
    `update audits set listing = $2, after_id = $3, objects_read = objects_read + $4, paused_because = null, updated_at = $5
     where id = $1`,
    [id, listing, after, count, new Date(clock.now())],
  );
}

async function finish(parts: ProviderAuditParts, audit: OpenAudit): Promise<AuditReport> {
  const { database, clock } = parts;
  const { id, from, to } = audit;
  const found = await readForLong(database, async (statements) => ({
    differences: await findDifferences(statements, parts.hasProvider === false ? null : audit),
    totals: await readTotals(statements),
    foreign: await statements.query<{ count: bigint }>(FOREIGN_CHARGES, [id]),
  }));
  const wrongTotals = totalsDifference(found.totals);
  const all = wrongTotals === null ? found.differences : [...found.differences, wrongTotals];
  const differences = all.slice(0, MOST_DIFFERENCES);
  const checkedAt = new Date(clock.now());
  const foreignCharges = found.foreign[0]?.count ?? 0n;
  const isCut = all.length > differences.length;
  const objectsRead = await database.transaction(async (transaction) => {
    const [row] = await transaction.query<{ read: bigint }>(
      `update audits set status = 'DONE', checked_at = $2, updated_at = $2, foreign_charges = $3, is_cut = $4, totals = $5
       where id = $1 returning objects_read as read`,
      [id, checkedAt, foreignCharges, isCut, storedTotals(found.totals)],
    );
    await transaction.query('delete from audit_differences where audit_id = $1', [id]);
    for (const [number, { kind, subject, expected, found: was, remedy }] of differences.entries()) {
      await transaction.query(
        `insert into audit_differences (audit_id, number, kind, subject, expected, found, remedy)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [id, number, kind, subject, expected, was, remedy],
      );
    }
    await transaction.query('delete from audit_provider_objects where audit_id = $1', [id]);
    await transaction.query(
      `delete from audits where id in (select id from audits order by started_at desc offset ${AUDITS_STORED})
         or (status = 'RUNNING' and updated_at < $1)`,
      [new Date(checkedAt.getTime() - PAUSED_FOR_MS)],
    );
    return row?.read ?? 0n;
  });
  return { id, from, to, checkedAt, objectsRead, foreignCharges, differences, isCut, totals: found.totals };
}

/** Differences from the provider come first. Each query reads one more than is stored, to detect that there are more. */
async function findDifferences(
  statements: Statements,
  read: AuditRange | null,
): Promise<readonly Difference[]> {
  const limit = MOST_DIFFERENCES + 1;
  const found: Difference[] = [];
  if (read !== null) {
    const { id, from, to } = read;
    found.push(
      ...(await statements.query<Difference>(`${PROVIDER_DIFFERENCES} limit ${limit}`, [id, from, to])),
    );
  }
  for (const { kind, differences } of MONEY_CHECKS) {
    const rows = await statements.query<Omit<Difference, 'kind'>>(
      `select subject, expected, found, remedy from (${differences}) as one limit ${limit}`,
    );
    found.push(...rows.map((row) => ({ kind, ...row })));
  }
  found.push(...(await planCreditDifferences(statements, limit)));
  return found;
}

/** The last finished audit of any range; null before the first. */
export async function readReport(database: Pick<Database, 'query'>): Promise<AuditReport | null> {
  const [row] = await database.query<
    Omit<AuditReport, 'differences' | 'totals'> & { readonly totals: StoredTotals }
  >(
    `select id, from_at as "from", to_at as "to", checked_at as "checkedAt", objects_read as "objectsRead",
       foreign_charges as "foreignCharges", is_cut as "isCut", totals
     from audits where status = 'DONE' order by checked_at desc limit 1`,
  );
  if (row === undefined) return null;
  const differences = await database.query<Difference>(
    'select kind, subject, expected, found, remedy from audit_differences where audit_id = $1 order by number',
    [row.id],
  );
  return { ...row, differences, totals: totalsOf(row.totals) };
}

/** For metrics: the number of differences by kind in the last finished audit; null before the first. */
export async function readAuditFigures(
  statements: Statements,
): Promise<{ readonly checkedAt: Date; readonly kinds: ReadonlyMap<string, number> } | null> {
  const rows = await statements.query<{ checkedAt: Date; kind: string | null; count: number }>(
    `select checked_at as "checkedAt", kind, count(kind)::integer as count
     from (select * from audits where status = 'DONE' order by checked_at desc limit 1) as last
     left join audit_differences on audit_id = last.id group by 1, 2`,
  );
  const [first] = rows;
  if (first === undefined) return null;
  const kinds = rows.flatMap(({ kind, count }): [string, number][] => (kind === null ? [] : [[kind, count]]));
  return { checkedAt: first.checkedAt, kinds: new Map(kinds) };
}

/** 64-bit integers are strings in JSON. */
interface StoredTotals {
  readonly credits: Readonly<Record<string, string>>;
  readonly cash: readonly Readonly<Record<string, string>>[];
}

function storedTotals({ credits, cash }: Totals) {
  const texts = (row: object) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
  return { credits: texts(credits), cash: cash.map(texts) };
}

function totalsOf({ credits, cash }: StoredTotals): Totals {
  const numbers = ({ currency, ...row }: Readonly<Record<string, string>>) => ({
    ...(currency === undefined ? {} : { currency }),
    ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, BigInt(value)])),
  });
  return { credits: numbers(credits), cash: cash.map(numbers) } as unknown as Totals;
}
