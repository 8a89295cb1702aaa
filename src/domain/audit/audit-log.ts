import type { Statements, Transaction } from '../../ports/database.ts';

/** A few plain values: names, ids, numbers. Secrets have no place here. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface NewAuditEntry {
  readonly happenedAt: Date;
  /** Whose affair it is; null for what concerns the whole installation. */
  readonly companyId: string | null;
  readonly actorId: string | null;
  readonly actorEmail: string | null;
  /** What was done to which kind of thing, as `key.minted`. */
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

/** Only within the transaction of the change: neither is there without the other. */
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

/** The newest first. A company's own entries, or with null those of all companies and of none. */
export async function listAuditEntries(
  statements: Statements,
  companyId: string | null,
  { limit, after }: { readonly limit: number; readonly after: bigint | null },
): Promise<readonly AuditEntry[]> {
  return await statements.query<AuditEntry>(
    `select ${COLUMNS} from audit_log
     where ($1::uuid is null or company_id = $1) and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [companyId, after, limit],
  );
}
