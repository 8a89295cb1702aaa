import type { Statements, Transaction } from '../../ports/database.ts';
import { findEmails } from '../accounts/user.ts';

export type TalentStatus = 'PENDING' | 'READY' | 'FAILED';
export type Profile = Readonly<Record<string, unknown>>;

export interface Talent {
  readonly id: string;
  readonly companyId: string;
  readonly version: number;
  readonly status: TalentStatus;
  readonly name: string | null;
  /** Lowercase. */
  readonly email: string | null;
  /** Digits only. */
  readonly phone: string | null;
  readonly headline: string | null;
  /** JSON Resume with our additions; null until there is one. */
  readonly profile: Profile | null;
  readonly evidence: readonly unknown[] | null;
  readonly document: Readonly<Record<string, unknown>> | null;
  readonly engine: 'model' | 'embedded' | null;
  readonly problem: string | null;
  readonly duplicateOf: string | null;
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A CV as pasted or uploaded. */
export interface TalentFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Selects a row of `talents` as a Talent. */
export const TALENT_COLUMNS = `id, company_id as "companyId", version, status, name, email, phone, headline, profile,
  evidence, document, engine, problem, duplicate_of as "duplicateOf", created_by as "createdBy",
  created_at as "createdAt", updated_at as "updatedAt"`;

type TalentChange =
  | 'created'
  | 'edited'
  | 'parsed'
  | 'parse-failed'
  | 'sent-again'
  | 'newer-cv'
  | 'separated';

interface WrittenTalentChange {
  readonly what: TalentChange;
  /** Null for the CV worker. */
  readonly changedBy: string | null;
  readonly at: Date;
  /**
   * Whose CV it is, with the reading of the version before, or was accepted in part; for separated: from whom.
   */
  readonly from?: { readonly talentId: string; readonly replaced: TalentReading | null };
}

/** What reading a CV finds besides the profile. */
export type TalentReading = Pick<Talent, 'evidence' | 'document' | 'engine'>;

/** Inserts a talent as its first version. */
export async function insertTalent(
  transaction: Transaction,
  talent: Talent,
  change: WrittenTalentChange,
): Promise<Talent> {
  const rows = await transaction.query<Talent>(
    `insert into talents (id, company_id, status, name, email, phone, headline, profile, evidence, document, engine,
       problem, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10, $11, $12, $13, $14, $14)
     returning ${TALENT_COLUMNS}`,
    [talent.id, talent.companyId, ...valuesOf(talent), talent.createdBy, change.at],
  );
  return await withVersion(transaction, rows[0], change);
}

/** Writes every field of a locked talent as its next version. */
export async function writeTalent(
  transaction: Transaction,
  next: Talent,
  change: WrittenTalentChange,
): Promise<Talent> {
  const rows = await transaction.query<Talent>(
    `update talents set version = version + 1, status = $3, name = $4, email = $5, phone = $6, headline = $7,
       profile = $8, evidence = $9::text::jsonb, document = $10, engine = $11, problem = $12, duplicate_of = $13,
       updated_at = greatest(updated_at, $14)
     where id = $1 and company_id = $2 returning ${TALENT_COLUMNS}`,
    [next.id, next.companyId, ...valuesOf(next), next.duplicateOf, change.at],
  );
  return await withVersion(transaction, rows[0], change);
}

function valuesOf(talent: Talent) {
  const { status, name, email, phone, headline, profile, evidence, document, engine, problem } = talent;
  // As text: an array would be sent as a PostgreSQL array.
  const evidenceText = evidence === null ? null : JSON.stringify(evidence);
  return [status, name, email, phone, headline, profile, evidenceText, document, engine, problem];
}

async function withVersion(
  transaction: Transaction,
  talent: Talent | undefined,
  { what, changedBy, from }: WrittenTalentChange,
): Promise<Talent> {
  if (talent === undefined) throw new Error('a talent that was written did not come back');
  await transaction.query(
    `insert into talent_versions (talent_id, version, what, profile, changed_by, changed_at, from_talent_id, replaced)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[talent.id, talent.version, what, talent.profile, changedBy, talent.updatedAt],
      ...[from?.talentId ?? null, from?.replaced ?? null],
    ],
  );
  return talent;
}

/** Null if the company has no such talent. A null `companyId` matches any company. */
export async function lockTalent(
  transaction: Transaction,
  companyId: string | null,
  talentId: string,
): Promise<Talent | null> {
  const rows = await transaction.query<Talent>(
    `select ${TALENT_COLUMNS} from talents where id = $1 and ($2::uuid is null or company_id = $2) for update`,
    [talentId, companyId],
  );
  return rows[0] ?? null;
}

interface TalentListArgs {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after: string | null;
  /** Null matches every status. */
  readonly status?: TalentStatus | null;
  /** Lower-case words that must all occur in the name, headline, email address or phone number. */
  readonly words?: readonly string[];
}

const MOST_AT_ONCE = 1_000;

/** Newest first, ordered by id, which increases with time and never changes. */
export async function listTalents(
  statements: Statements,
  companyId: string,
  { limit, after, status = null, words = [] }: TalentListArgs,
): Promise<readonly Talent[]> {
  return await statements.query<Talent>(
    `select ${TALENT_COLUMNS} from talents
     where company_id = $1 and ($2::uuid is null or id < $2) and ($3::text is null or status = $3)
       and not exists (select 1 from unnest($5::text[]) as word
         where position(word in lower(concat_ws(' ', name, headline, email, phone))) = 0)
     order by id desc limit $4`,
    [companyId, after, status, Math.min(Math.max(1, limit), MOST_AT_ONCE), words],
  );
}

/** In the order of `ids`; null for each that the company does not have. */
export async function findTalents(
  statements: Statements,
  companyId: string,
  ids: readonly string[],
): Promise<readonly (Talent | null)[]> {
  const rows = await statements.query<Talent>(
    `select ${TALENT_COLUMNS} from talents where company_id = $1 and id = any($2::uuid[])`,
    [companyId, ids],
  );
  const byId = new Map(rows.map((talent) => [talent.id, talent]));
  return ids.map((id) => byId.get(id) ?? null);
}

/** In no order, without talents that have no name yet. */
export async function findTalentNames(
  statements: Statements,
  companyId: string,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  return await statements.query(
    'select id, name from talents where company_id = $1 and id = any($2::uuid[]) and name is not null',
    [companyId, ids],
  );
}

/** Prevents a talent from being erased until the transaction ends. False if the company has no such talent. */
export async function lockTalentKey(
  transaction: Transaction,
  companyId: string,
  talentId: string,
): Promise<boolean> {
  const rows = await transaction.query(
    'select 1 from talents where id = $1 and company_id = $2 for key share',
    [talentId, companyId],
  );
  return rows.length === 1;
}

/** The data that a talent is matched by. It is live once it was read, unless it is a duplicate. */
interface MatchableTalent {
  readonly id: string;
  readonly version: number;
  readonly isLive: boolean;
  readonly profile: unknown;
  readonly document: unknown;
  /** The text of the CV that the profile was read from, to which the evidence refers; null if there is none. */
  readonly text: string | null;
  readonly evidence: unknown;
}

/** Of any company, in no order, without unknown ids. */
export async function findMatchableTalents(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly MatchableTalent[]> {
  return await statements.query<MatchableTalent>(
    `select id, version, profile, document, evidence, status = 'READY' and duplicate_of is null as "isLive",
       (${textOf('talent.id', 'talent.company_id')}) as text
     from talents as talent where id = any($1::uuid[])`,
    [ids],
  );
}

export interface TalentVersion {
  readonly version: number;
  readonly what: TalentChange;
  readonly profile: Profile | null;
  /** Null for the CV worker. */
  readonly changedBy: string | null;
  readonly changedByEmail: string | null;
  readonly changedAt: Date;
}

const MOST_VERSIONS = 100;

/** The newest versions of a talent, newest first. */
export async function listTalentVersions(
  statements: Statements,
  companyId: string,
  talentId: string,
): Promise<readonly TalentVersion[]> {
  const rows = await statements.query<Omit<TalentVersion, 'changedByEmail'>>(
    `select own.version, own.what, own.profile, own.changed_by as "changedBy", own.changed_at as "changedAt"
     from talent_versions as own join talents as talent on talent.id = own.talent_id
     where own.talent_id = $1 and talent.company_id = $2 order by own.version desc limit ${MOST_VERSIONS}`,
    [talentId, companyId],
  );
  const changers = rows.flatMap(({ changedBy }) => (changedBy === null ? [] : [changedBy]));
  const emails = await findEmails(statements, [...new Set(changers)]);
  return rows.map((row) => ({ ...row, changedByEmail: emails.get(row.changedBy ?? '') ?? null }));
}

/**
 * The text that the talent's evidence refers to: that of the newest CV that became the profile. If a newer CV updated
 * the talent, its file belongs to the linked row. Null if no text was read.
 */
export async function readTalentText(
  statements: Statements,
  companyId: string,
  talentId: string,
): Promise<string | null> {
  const rows = await statements.query<{ text: string }>(textOf('$1::uuid', '$2::uuid'), [
    talentId,
    companyId,
  ]);
  return rows[0]?.text ?? null;
}

function textOf(talentId: string, companyId: string): string {
  return `select file.text from talent_files as file
     where file.company_id = ${companyId} and file.text is not null and file.talent_id = coalesce(
       (select talent_id from talent_decisions
        where earlier_id = ${talentId} and effect = 'updated' order by id desc limit 1), ${talentId})
     order by file.id desc limit 1`;
}

/** The size of all CVs of a company, as uploaded. The length of a file is known without reading it. */
export async function storedCvBytes(statements: Statements, companyId: string): Promise<number> {
  const [row] = await statements.query<{ bytes: number }>(
    `select coalesce(sum(octet_length(bytes)), 0)::float8 as bytes from talent_files where company_id = $1`,
    [companyId],
  );
  return row?.bytes ?? 0;
}
