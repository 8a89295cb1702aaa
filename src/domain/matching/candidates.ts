import type { CompanyIndex } from './company-index.ts';
import type { JobFeatures, TalentFeatures } from './features.ts';
import { titleCloseness } from './titles.ts';
import { cosine } from './vectors.ts';

/** Of either kind, for one that changed. With fewer in the company, all of them. */
export const MOST_CANDIDATES = 200;

/** A shared skill is worth so much of a cosine; skills that many have say less, as for a search engine. */
const SKILL_WORTH = 0.15;
const TITLE_WORTH = 0.3;

/**
 * Those worth scoring: the nearest by vector, shared skills and title together. It looks at everybody, but only at a
 * product of vectors and a few sets: 10,000 take some milliseconds, where scoring them all would take a hundred.
 */
export function candidateJobs(talent: TalentFeatures, index: CompanyIndex): readonly string[] {
  if (index.jobs.size <= MOST_CANDIDATES) return [...index.jobs.keys()];
  const shared = sharedSkills(talent.weighed, index.jobsBySkill, index.jobs.size);
  const [title] = talent.titles;
  return best(index.jobs, (id, job) => {
    const byTitle = title === undefined ? 0 : titleCloseness(title, job.title) * TITLE_WORTH;
    return (shared.get(id) ?? 0) + byTitle + near(talent, job);
  });
}

export function candidateTalents(job: JobFeatures, index: CompanyIndex): readonly string[] {
  if (index.talents.size <= MOST_CANDIDATES) return [...index.talents.keys()];
  const shared = sharedSkills(job.wanted, index.talentsBySkill, index.talents.size);
  return best(index.talents, (id, talent) => {
    const [title] = talent.titles;
    const byTitle = title === undefined ? 0 : titleCloseness(title, job.title) * TITLE_WORTH;
    return (shared.get(id) ?? 0) + byTitle + near(talent, job);
  });
}

function near(talent: TalentFeatures, job: JobFeatures): number {
  return talent.vector === null || job.vector === null ? 0 : (cosine(talent.vector, job.vector) ?? 0);
}

function sharedSkills(
  skills: Iterable<string>,
  bySkill: ReadonlyMap<string, ReadonlySet<string>>,
  total: number,
): ReadonlyMap<string, number> {
  const shared = new Map<string, number>();
  for (const skill of skills) {
    const ids = bySkill.get(skill);
    if (ids === undefined || ids.size === 0) continue;
    const worth = SKILL_WORTH * Math.log(1 + total / ids.size);
    for (const id of ids) shared.set(id, (shared.get(id) ?? 0) + worth);
  }
  return shared;
}

function best<Features>(
  all: ReadonlyMap<string, Features>,
  rank: (id: string, features: Features) => number,
): readonly string[] {
  const ids: string[] = [];
  const ranks = new Float64Array(all.size);
  for (const [id, features] of all) {
    ranks[ids.length] = rank(id, features);
    ids.push(id);
  }
  const least = Float64Array.from(ranks).sort()[Math.max(0, ranks.length - MOST_CANDIDATES)] ?? 0;
  const above = ids.filter((_, at) => (ranks[at] as number) > least);
  const level = ids.filter((_, at) => ranks[at] === least);
  return [...above, ...level].slice(0, MOST_CANDIDATES);
}
