import type { Statements, Transaction } from '../../ports/database.ts';

/** A few plain values: names, ids, numbers. They must not contain secrets. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

interface NewAuditEntry {
  readonly happenedAt: Date;
  /** The company concerned; null for the whole installation. */
  readonly companyId: string | null;
  readonly actorId: string | null;
  readonly actorEmail: string | null;
  /** The type of object and what was done to it, such as `key.minted`. */
  readonly action: string;
  readonly objectKind: string;
  readonly objectId: string;
  readonly details: AuditDetails;
  readonly clientAddress: string;
  readonly requestId: string;
}

export interface AuditEntry extends NewAuditEntry {
  readonly id: bigint;
}

const COLUMNS = `id, happened_at as "happenedAt", company_id as "companyId", actor_id as "actorId",
  actor_email as "actorEmail", action, object_kind as "objectKind", object_id as "objectId", details,
  client_address as "clientAddress", request_id as "requestId"`;

/** Must run in the transaction of the change, so that neither exists without the other. */
export async function appendAuditEntry(transaction: Transaction, entry: NewAuditEntry): Promise<void> {
  await transaction.query(
    `insert into audit_log (happened_at, company_id, actor_id, actor_email, action, object_kind, object_id,
       details, client_address, request_id) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      entry.happenedAt,
      entry.companyId,
      entry.actorId,
      entry.actorEmail,
      entry.action,
      entry.objectKind,
      entry.objectId,
      entry.details,
      entry.clientAddress.slice(0, 100),
      entry.requestId.slice(0, 200),
    ],
  );
}

interface AuditFilter {
  /** Null lists all entries, including those of no company. */
  readonly companyId: string | null;
  /** Lower-case words that must all occur in the actor, action, object, client address, request id or details. */
  readonly words?: readonly string[];
  /** Inclusive; `to` is exclusive. */
  readonly from?: Date | null;
  readonly to?: Date | null;
}

export interface AuditLogPage {
  readonly entries: readonly AuditEntry[];
  /** The id after which the next page begins; null if nothing is left. */
  readonly next: bigint | null;
  /** Set if the page is not full because few of the examined entries match: earlier ones may match too. */
  readonly searchedUntil: Date | null;
}

/** The number of entries examined per page: a search without a match would otherwise read all of them. */
const MOST_SCANNED = 10_000;
/** An entry has the start time of its transaction, so times can be out of id order by up to the longest wait. */
const LONGEST_WAIT = "interval '1 hour'";
const SEARCHED = `lower(concat_ws(' ', "actorEmail", action, "objectKind", "objectId", "clientAddress", "requestId", details))`;

/** Newest first. Pages have no gaps and no repeats. */
export async function listAuditEntries(
  statements: Statements,
  { companyId, words = [], from = null, to = null }: AuditFilter,
  { limit, after }: { readonly limit: number; readonly after: bigint | null },
  mostScanned = MOST_SCANNED,
): Promise<AuditLogPage> {
  const place = `($1::uuid is null or company_id = $1) and ($2::bigint is null or id < $2)
    and ($3::timestamptz is null or id <= (select max(id) from
      (select id from audit_log where happened_at < $3 and happened_at >= $3 - ${LONGEST_WAIT}
       union all (select id from audit_log where happened_at < $3 order by happened_at desc limit 1)) as before))`;
  const placed = [companyId, after, to];
  const rows = await statements.query<AuditEntry>(
    `select * from (select ${COLUMNS} from audit_log where ${place} order by id desc limit $7) as looked
     where ($3::timestamptz is null or "happenedAt" < $3) and ($4::timestamptz is null or "happenedAt" >= $4)
       and not exists (select 1 from unnest($5::text[]) as word where position(word in ${SEARCHED}) = 0)
     order by id desc limit $6`,
    [...placed, from, words, limit + 1, mostScanned],
  );
  const entries = rows.slice(0, limit);
  const lastShown = entries.at(-1);
  if (rows.length > limit && lastShown !== undefined) {
    return { entries, next: lastShown.id, searchedUntil: null };
  }
  const [lastLooked] = await statements.query<{ readonly id: bigint; readonly happenedAt: Date }>(
    `select id, happened_at as "happenedAt" from audit_log
     where ${place} and ($4::timestamptz is null or happened_at >= $4 - ${LONGEST_WAIT})
     order by id desc offset $5 limit 1`,
    [...placed, from, mostScanned - 1],
  );
  if (lastLooked === undefined) return { entries, next: null, searchedUntil: null };
  // Entries added in between shift this offset towards newer ones: what was already shown must not be repeated.
  const next = lastShown !== undefined && lastShown.id < lastLooked.id ? lastShown.id : lastLooked.id;
  return { entries, next, searchedUntil: entries.length === limit ? null : lastLooked.happenedAt };
}
