import type { Statements } from '../../ports/database.ts';
import { type ApiKey, isId, KEY_COLUMNS } from './api-key.ts';

export const LONGEST_PAGE = 1_000;

export interface KeyPage {
  /** 1,000 unless told, and never more. */
  readonly limit?: number;
  /** The id of the last key of the page before. */
  readonly after?: string;
}

/** A company's keys of every status, the newest first. */
export async function listKeys(
  statements: Statements,
  companyId: string,
  { limit = LONGEST_PAGE, after }: KeyPage = {},
): Promise<readonly ApiKey[]> {
  if (!isId(companyId) || (after !== undefined && !isId(after))) return [];
  return await statements.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys
     where company_id = $1 and ($2::uuid is null or (created_at, id) <
       (select last.created_at, last.id from api_keys last where last.id = $2 and last.company_id = $1))
     order by created_at desc, id desc limit $3`,
    [companyId, after ?? null, Math.min(limit, LONGEST_PAGE)],
  );
}

/** Null for a key of another company, as for one that does not exist. */
export async function findKey(
  statements: Statements,
  companyId: string,
  keyId: string,
): Promise<ApiKey | null> {
  if (!isId(companyId) || !isId(keyId)) return null;
  const rows = await statements.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys where company_id = $1 and id = $2`,
    [companyId, keyId],
  );
  return rows[0] ?? null;
}
