import type { Statements } from '../../ports/database.ts';
import { SCORER_VERSION } from './facts.ts';
import { forgetGoneProcesses } from './generator-board.ts';

/** Rows of what is gone are kept this long for those who hold it in memory (company-index.ts reads anew after half). */
const GONE_KEPT_MS = 3_600_000;
const EMBED_AGAIN_MS = 600_000;
const SWEPT_AT_ONCE = 200;

/**
 * What nobody asked for and yet has to be done, a little at a time and only while nothing else waits: facts read by an
 * earlier scorer, vectors that are missing or of another model than the newest ones. Returns how many were put in line.
 */
export async function sweep(statements: Statements, nowMs: number): Promise<number> {
  await statements.query('delete from match_subjects where not is_live and written_at < $1', [
    new Date(nowMs - GONE_KEPT_MS),
  ]);
  await forgetGoneProcesses(statements, nowMs);
  const rows = await statements.query(
    `with newest as (select embed_model from match_subjects where vector is not null
         order by written_at desc limit 1),
       old as (
         (select subject_id, kind, company_id from match_subjects
          where is_live and scorer_version < $1 limit ${SWEPT_AT_ONCE})
         union
         (select subject_id, kind, company_id from match_subjects
          where is_live and written_at < $2 and (vector is null
            or embed_model <> (select embed_model from newest))
          limit ${SWEPT_AT_ONCE}))
     insert into match_changes (subject_id, kind, company_id, priority)
     select subject_id, kind, company_id, 1 from old order by 1 on conflict (subject_id) do nothing returning 1`,
    [SCORER_VERSION, new Date(nowMs - EMBED_AGAIN_MS)],
  );
  return rows.length;
}
