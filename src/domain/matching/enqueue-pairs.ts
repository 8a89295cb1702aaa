import type { Statements } from '../../ports/database.ts';
import type { SubjectKind } from './claims.ts';
import { SCORER_VERSION } from './facts.ts';

/**
 * Puts pairs of one talent or job in line: its candidates, and those it has a score with, which must not stay old. A pair
 * that is scored in these very versions is left out, and one that waits already is only brought to the newer versions,
 * so that however many changes and processes ask for it, it is scored once. In the order of the key, so that two who
 * ask for the same ones wait for each other and do not lock each other out.
 */
export async function enqueuePairs(
  statements: Statements,
  { id, kind }: { readonly id: string; readonly kind: SubjectKind },
  candidates: readonly string[],
): Promise<number> {
  const [own, other] = kind === 'job' ? ['j', 't'] : ['t', 'j'];
  const [ownColumn, otherColumn] = kind === 'job' ? ['job_id', 'talent_id'] : ['talent_id', 'job_id'];
  const rows = await statements.query(
    `insert into match_pairs as waiting (job_id, talent_id, company_id, job_version, talent_version, scorer_version,
       weights_version)
     select j.subject_id, t.subject_id, j.company_id, j.version, t.version, $3::integer, coalesce(w.version, 0)
     from match_subjects as j
     join match_subjects as t on t.company_id = j.company_id and t.kind = 'talent' and t.is_live
     left join match_weights as w on w.company_id = j.company_id
     left join match_scores as s on s.job_id = j.subject_id and s.talent_id = t.subject_id
     where j.kind = 'job' and j.is_live and ${own}.subject_id = $1
       and ${other}.subject_id in (
         select unnest($2::uuid[]) union select ${otherColumn} from match_scores where ${ownColumn} = $1)
       and (s.job_id is null or (s.job_version, s.talent_version) <> (j.version, t.version)
         or s.scorer_version < $3 or s.weights_version <> coalesce(w.version, 0))
     order by 1, 2
     on conflict (job_id, talent_id) do update set
       job_version = greatest(waiting.job_version, excluded.job_version),
       talent_version = greatest(waiting.talent_version, excluded.talent_version),
       scorer_version = greatest(waiting.scorer_version, excluded.scorer_version),
       weights_version = greatest(waiting.weights_version, excluded.weights_version),
       due_at = '-infinity', attempts = 0, failed_at = null, error = null
     where waiting.job_version < excluded.job_version or waiting.talent_version < excluded.talent_version
       or waiting.scorer_version < excluded.scorer_version or waiting.weights_version < excluded.weights_version
     returning 1`,
    [id, candidates, SCORER_VERSION],
  );
  return rows.length;
}
