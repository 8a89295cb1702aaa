import type { Transaction } from '../../ports/database.ts';

export type ErasedTalent =
  /** All who were recognised as the same person. */
  | { readonly outcome: 'erased'; readonly talentIds: readonly string[] }
  | { readonly outcome: 'no-such-talent' };

/**
 * Takes away a person wholly: the row, and with it files, texts, versions, decisions and whatever other capabilities
 * hang on the row; all rows that were recognised as the same person; and the kept log entries that name them. What
 * waits in the queue names an id and finds nobody.
 */
export async function eraseTalent(
  transaction: Transaction,
  { companyId, talentId }: { readonly companyId: string; readonly talentId: string },
): Promise<ErasedTalent> {
  const rows = await transaction.query<{ id: string }>(
    `select id from talents
     where company_id = $1 and (
       id = $2 or duplicate_of = $2
       or id = (select duplicate_of from talents where id = $2 and company_id = $1)
       or duplicate_of = (select duplicate_of from talents where id = $2 and company_id = $1))
     order by id for update`,
    [companyId, talentId],
  );
  const talentIds = rows.map(({ id }) => id);
  if (!talentIds.includes(talentId)) return { outcome: 'no-such-talent' };
  await transaction.query('delete from talents where id = any($1::uuid[])', [talentIds]);
  await transaction.query(`delete from log_entries where context ->> 'talentId' = any($1::text[])`, [
    talentIds,
  ]);
  return { outcome: 'erased', talentIds };
}
