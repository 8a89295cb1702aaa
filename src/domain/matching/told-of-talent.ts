import type { Statements } from '../../ports/database.ts';
import type { TalentFacts } from './facts.ts';
import { listMatches, type Match, type MatchCursor } from './list-matches.ts';

/** All that matching keeps of one talent: for whoever asks what is known of them. */
export interface ToldOfTalent {
  /** What scores are made of; null where the talent cannot be matched or was not looked at yet. */
  readonly facts: MatchFacts | null;
  /** Every score with its parts and reasons, the best first. */
  readonly matches: readonly Match[];
}

export interface MatchFacts {
  /** Of the talent. */
  readonly version: number;
  readonly known: TalentFacts;
  /** Whose vector is kept beside them; the vector itself says nothing to a person. */
  readonly embedModel: string | null;
}

const AT_ONCE = 1_000;
/** A talent has a score for each job it was compared with: no company has had that many jobs. */
const MOST_PAGES = 100;

export async function toldOfTalent(
  statements: Statements,
  { companyId, talentId }: { readonly companyId: string; readonly talentId: string },
): Promise<ToldOfTalent> {
  const [facts] = await statements.query<MatchFacts>(
    `select version, facts as known, embed_model as "embedModel" from match_subjects
     where subject_id = $1 and company_id = $2 and kind = 'talent' and is_live`,
    [talentId, companyId],
  );
  const matches: Match[] = [];
  let after: MatchCursor | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const found: readonly Match[] = await listMatches(statements, companyId, {
      ...{ limit: AT_ONCE, after, jobId: null, talentId },
    });
    matches.push(...found);
    const last = found.at(-1);
    if (last === undefined || found.length < AT_ONCE) break;
    after = { score: last.score, id: last.id };
  }
  return { facts: facts ?? null, matches };
}
