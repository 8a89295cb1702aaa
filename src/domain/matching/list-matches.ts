import type { Statements } from '../../ports/database.ts';
import type { TalentFacts } from './facts/facts.ts';
import type { Explanation } from './scoring/explain-pair.ts';
import type { ScoreNumbers } from './scoring/score-pair.ts';

export interface Match extends ScoreNumbers, Explanation {
  readonly id: string;
  readonly jobId: string;
  readonly talentId: string;
  readonly engine: 'embedded' | 'model';
  readonly updatedAt: Date;
}

interface MatchPageArgs {
  readonly limit: number;
  /** The cursor of the last match of the previous page. */
  readonly after: MatchCursor | null;
  readonly jobId: string | null;
  readonly talentId: string | null;
}

/** Matches are ordered by descending score; the id orders those with the same score. */
interface MatchCursor {
  readonly score: number;
  readonly id: string;
}

const MOST_AT_ONCE = 1_000;

export async function listMatches(
  statements: Statements,
  companyId: string,
  { limit, after, jobId, talentId }: MatchPageArgs,
): Promise<readonly Match[]> {
  return await statements.query<Match>(
    `select id, job_id as "jobId", talent_id as "talentId", score, job_to_talent as "jobToTalent",
       talent_to_job as "talentToJob", parts, reasons, missing, engine, updated_at as "updatedAt"
     from match_scores
     where company_id = $1 ${jobId === null ? 'and $2::uuid is null' : 'and job_id = $2::uuid'}
       ${talentId === null ? 'and $3::uuid is null' : 'and talent_id = $3::uuid'}
       and ($4::float8 is null or (score, id) < ($4::float8, $5::uuid))
     order by score desc, id desc limit $6`,
    [
      companyId,
      jobId,
      talentId,
      after?.score ?? null,
      after?.id ?? null,
      Math.min(Math.max(1, limit), MOST_AT_ONCE),
    ],
  );
}

export function writeMatchCursor({ score, id }: MatchCursor): string {
  return `${score}:${id}`;
}

/** Null if the text is not a valid cursor. */
export function readMatchCursor(text: string): MatchCursor | null {
  const [, score, id] =
    /^(\d{1,3}(?:\.\d{1,2})?):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(text) ?? [];
  return score === undefined || id === undefined ? null : { score: Number(score), id };
}

/** All data that matching stores about the talents of one person, of which at most one is matched, for the export of a person's data. */
interface TalentMatchData {
  /** The facts that scores are computed from; null if the talent cannot be matched or was not processed yet. */
  readonly facts: MatchFacts | null;
  /** Every score with its parts and reasons, best first. */
  readonly matches: readonly Match[];
}

interface MatchFacts {
  /** The version of the talent. */
  readonly version: number;
  readonly known: TalentFacts;
  /** The model of the stored vector. The vector itself is meaningless to a person. */
  readonly embedModel: string | null;
}

/** A talent has one score for each job it was compared with; no company has 100,000 jobs. */
const MOST_PAGES = 100;

export async function exportMatchData(
  statements: Statements,
  { companyId, talentIds }: { readonly companyId: string; readonly talentIds: readonly string[] },
): Promise<TalentMatchData> {
  const [facts] = await statements.query<MatchFacts>(
    `select version, facts as known, embed_model as "embedModel" from match_subjects
     where subject_id = any($1::uuid[]) and company_id = $2 and kind = 'talent' and is_live`,
    [talentIds, companyId],
  );
  const matches: Match[] = [];
  for (const talentId of talentIds) matches.push(...(await allMatches(statements, companyId, talentId)));
  return { facts: facts ?? null, matches };
}

async function allMatches(
  statements: Statements,
  companyId: string,
  talentId: string,
): Promise<readonly Match[]> {
  const matches: Match[] = [];
  let after: MatchCursor | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const args = { limit: MOST_AT_ONCE, after, jobId: null, talentId };
    const found: readonly Match[] = await listMatches(statements, companyId, args);
    matches.push(...found);
    const last = found.at(-1);
    if (last === undefined || found.length < MOST_AT_ONCE) break;
    after = { score: last.score, id: last.id };
  }
  return matches;
}
