import type { Statements } from '../../ports/database.ts';
import { TALENT_COLUMNS, type Talent, type TalentStatus } from './talent.ts';

export interface TalentWish {
  readonly limit: number;
  /** The id of the last talent of the page before. */
  readonly after: string | null;
  /** Null is every status. */
  readonly status?: TalentStatus | null;
}

const MOST_AT_ONCE = 1_000;

/** A company's talents, the newest first: by id, which grows with time and never changes. */
export async function listTalents(
  statements: Statements,
  companyId: string,
  { limit, after, status = null }: TalentWish,
): Promise<readonly Talent[]> {
  return await statements.query<Talent>(
    `select ${TALENT_COLUMNS} from talents
     where company_id = $1 and ($2::uuid is null or id < $2) and ($3::text is null or status = $3)
     order by id desc limit $4`,
    [companyId, after, status, Math.min(Math.max(1, limit), MOST_AT_ONCE)],
  );
}

/** In the order of the ids; null for a talent of another company, as for one that does not exist. */
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
