import type { Statements } from '../../ports/database.ts';
import type { Meeting } from './meeting.ts';

interface MatchRow {
  readonly score: number;
  readonly reasons: readonly string[];
  readonly missing: readonly string[];
  readonly updatedAt: Date;
}

/**
 * For who interviews: where talent and job fit, and where to ask, from their match as it stands when the meeting begins.
 * Null while there is none to go by, which is looked for again.
 */
export async function briefingFor(
  statements: Statements,
  { jobId, talentId, companyId, startedAt }: Meeting,
): Promise<Readonly<Record<string, unknown>> | null> {
  if (jobId === null || talentId === null || companyId === null || startedAt === null) return null;
  const [match] = await statements.query<MatchRow>(
    `select score, reasons, missing, updated_at as "updatedAt" from match_scores
     where job_id = $1 and talent_id = $2 and company_id = $3`,
    [jobId, talentId, companyId],
  );
  if (match === undefined) return null;
  return {
    score: match.score,
    fits: match.reasons,
    askAbout: match.missing,
    matchedAt: match.updatedAt.toISOString(),
  };
}
