import type { Statements, Transaction } from '../../ports/database.ts';
import { eraseEntriesAbout } from '../logs/log-store.ts';
import { TALENT_COLUMNS, type Talent } from './talent.ts';

type ExportedTalent =
  | {
      readonly outcome: 'exported';
      readonly export: Readonly<Record<string, unknown>>;
      /** All talents that were recognised as the same person. */
      readonly talentIds: readonly string[];
    }
  | { readonly outcome: 'no-such-talent' };

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** The talent, the one that it is linked to, and all that are linked to either: what an erasure removes. */
const OF_ONE_PERSON = `company_id = $1 and (
  id = $2 or duplicate_of = $2
  or id = (select duplicate_of from talents where id = $2 and company_id = $1)
  or duplicate_of = (select duplicate_of from talents where id = $2 and company_id = $1))`;

/** Contents of files in one export, in base64: an answer of GraphQL ends at 32 MB. A file has at most 14 MB. */
const MOST_FILE_BYTES = 24_000_000;
const FILE_COLUMNS = `id, talent_id as "talentId", name, octet_length(bytes) as bytes, encode(sha256, 'hex') as sha256,
  to_char(created_at at time zone 'utc', ${ISO}) as "createdAt"`;
const CONTENT = `replace(encode(bytes, 'base64'), E'\\n', '')`;

/**
 * Exports a person as JSON: the talent and those linked to it, files in base64, every version, proposals, and the
 * reasons for the links. Meetings and match data are exported by their owners. Where all files are too large for one
 * answer, the last ones have no content, and `exportTalentFile` has it.
 */
export async function exportTalent(
  statements: Statements,
  { companyId, talentId }: { readonly companyId: string; readonly talentId: string },
): Promise<ExportedTalent> {
  const talents = await statements.query<Talent>(
    `select ${TALENT_COLUMNS} from talents where ${OF_ONE_PERSON} order by id`,
    [companyId, talentId],
  );
  const talent = talents.find(({ id }) => id === talentId);
  if (talent === undefined) return { outcome: 'no-such-talent' };
  const ids = talents.map(({ id }) => id);
  const versions = await statements.query(
    `select talent_id as "talentId", version, what, profile, from_talent_id as "fromTalentId", replaced,
       changed_by as "changedBy", to_char(changed_at at time zone 'utc', ${ISO}) as "changedAt"
     from talent_versions where talent_id = any($1::uuid[]) order by talent_id, version`,
    [ids],
  );
  const files = await statements.query(
    `select ${FILE_COLUMNS}, case when fits then ${CONTENT} end as "contentBase64", case when fits then text end as text
     from (select *, sum(octet_length(bytes)::bigint * 4 / 3 + coalesce(octet_length(text), 0))
         over (order by talent_id, id) <= ${MOST_FILE_BYTES} as fits
       from talent_files where talent_id = any($1::uuid[])) as files
     order by talent_id, id`,
    [ids],
  );
  const decisions = await statements.query(
    `select talent_id as "talentId", earlier_id as "earlierId", because, effect,
       to_char(decided_at at time zone 'utc', ${ISO}) as "decidedAt"
     from talent_decisions where talent_id = any($1::uuid[]) or earlier_id = any($1::uuid[]) order by id`,
    [ids],
  );
  const proposals = await statements.query(
    `select talent_id as "talentId", from_talent_id as "fromTalentId", profile, decision, decided_by as "decidedBy",
       to_char(created_at at time zone 'utc', ${ISO}) as "createdAt",
       to_char(decided_at at time zone 'utc', ${ISO}) as "decidedAt"
     from talent_proposals where talent_id = any($1::uuid[]) or from_talent_id = any($1::uuid[]) order by created_at, id`,
    [ids],
  );
  const linked = talents.filter(({ id }) => id !== talentId).map(shown);
  const more = { versions, files, decisions, proposals };
  return { outcome: 'exported', export: { talent: shown(talent), linked, ...more }, talentIds: ids };
}

/** A file of the talent, or of one linked to it, with its content and text; null if there is none. */
export async function exportTalentFile(
  statements: Statements,
  { companyId, talentId, fileId }: { companyId: string; talentId: string; fileId: string },
): Promise<Readonly<Record<string, unknown>> | null> {
  const [file] = await statements.query<Record<string, unknown>>(
    `select ${FILE_COLUMNS}, ${CONTENT} as "contentBase64", text from talent_files
     where id = $3 and talent_id in (select id from talents where ${OF_ONE_PERSON})`,
    [companyId, talentId, fileId],
  );
  return file ?? null;
}

function shown({ createdAt, updatedAt, ...rest }: Talent): Readonly<Record<string, unknown>> {
  return { ...rest, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

type ErasedTalent =
  /** All talents that were recognised as the same person. */
  | { readonly outcome: 'erased'; readonly talentIds: readonly string[] }
  | { readonly outcome: 'no-such-talent' };

/**
 * Erases a person completely: the row with its files, texts, versions, decisions and all dependent rows; all rows that
 * were recognised as the same person; and the stored log entries that name any of them. Queued jobs contain only an id and
 * then find no row. `beforeErasing` is for owners of dependent rows, with all rows of the person locked; it returns the ids of
 * those that the log may name.
 */
export async function eraseTalent(
  transaction: Transaction,
  { companyId, talentId }: { readonly companyId: string; readonly talentId: string },
  beforeErasing: (talentIds: readonly string[]) => Promise<readonly string[]>,
): Promise<ErasedTalent> {
  const talentIds = await lockPerson(transaction, companyId, talentId);
  if (!talentIds.includes(talentId)) return { outcome: 'no-such-talent' };
  const dependentIds = await beforeErasing(talentIds);
  await transaction.query('delete from talents where id = any($1::uuid[])', [talentIds]);
  await eraseEntriesAbout(transaction, [...talentIds, ...dependentIds]);
  return { outcome: 'erased', talentIds };
}

/**
 * Repeated until it finds no more: while it waits for a row, a CV that was just read can be linked to the person. Once
 * all rows are locked, no other can be.
 */
async function lockPerson(
  transaction: Transaction,
  companyId: string,
  talentId: string,
): Promise<readonly string[]> {
  let known = 0;
  for (;;) {
    const rows = await transaction.query<{ id: string }>(
      `select id from talents where ${OF_ONE_PERSON} order by id for update`,
      [companyId, talentId],
    );
    if (rows.length === known) return rows.map(({ id }) => id);
    known = rows.length;
  }
}
