import type { Statements } from '../../../ports/database.ts';
import { cosine, type JobFacts, type TalentFacts, vectorFrom } from '../facts/facts.ts';
import { titleCloseness } from '../facts/titles.ts';
import { type JobFeatures, jobFeatures, type TalentFeatures, talentFeatures } from '../scoring/features.ts';
import type { SubjectKind } from './work-queue.ts';

/** All matchable talents and jobs of one company, in memory and ready for scoring. */
export interface CompanyIndex {
  readonly talents: ReadonlyMap<string, TalentFeatures>;
  readonly jobs: ReadonlyMap<string, JobFeatures>;
  /** The ids of the talents or jobs that have a skill. */
  readonly talentsBySkill: ReadonlyMap<string, ReadonlySet<string>>;
  readonly jobsBySkill: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface CompanyIndexes {
  /** Includes everything that was committed before the call. */
  open(companyId: string): Promise<CompanyIndex>;
}

interface LoadedIndex extends CompanyIndex {
  readonly talents: Map<string, TalentFeatures>;
  readonly jobs: Map<string, JobFeatures>;
  readonly talentsBySkill: Map<string, Set<string>>;
  readonly jobsBySkill: Map<string, Set<string>>;
  /** All rows written by transactions before this one have been read. */
  horizon: string;
  /** Identifies the database that was read; a restored one has other transaction ids. */
  epoch: string;
  readAtMs: number;
}

interface Row {
  readonly id: string;
  readonly kind: SubjectKind;
  readonly version: number;
  readonly facts: TalentFacts | JobFacts | null;
  readonly vector: Uint8Array | null;
  readonly model: string | null;
}

/** A talent with a two-page CV takes 25 KB, so this many take 1.5 GB. A single company with more is kept whole. */
const MOST_SUBJECTS = 60_000;
/** An index that was not refreshed for this long is read again. Retired rows are deleted after twice that time. */
export const INDEX_LIFETIME_MS = 30 * 60_000;
const ROWS_AT_ONCE = 2_000;

/**
 * Indexes of the most recently used companies. An index is read completely once, and then updated with the rows written
 * since. The limit is the oldest transaction still running at the previous read, so that no late commit is missed.
 */
export function createCompanyIndexes({
  database,
  clock,
}: {
  readonly database: Statements;
  readonly clock: { now(): number };
}): CompanyIndexes {
  const loaded = new Map<string, LoadedIndex>();

  /** Returns a new index if the database was restored or lost commits in the meantime. */
  async function refresh(companyId: string, known: LoadedIndex): Promise<LoadedIndex> {
    // Read before the rows: a change that commits in between is read now and again at the next refresh.
    const [now] = await database.query<{ horizon: string; epoch: string }>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as horizon, epoch from database_epoch',
    );
    const index = known.epoch === (now?.epoch ?? '') ? known : emptyIndex();
    let after: string | null = null;
    for (;;) {
      const rows: Row[] = await database.query<Row>(
        `select subject_id as id, kind, version, facts, vector, embed_model as model from match_subjects
         where company_id = $1 and written_in >= $2::text::xid8 and ($3::uuid is null or subject_id > $3)
         order by subject_id limit ${ROWS_AT_ONCE}`,
        [companyId, index.horizon, after],
      );
      for (const row of rows) load(index, row);
      if (rows.length < ROWS_AT_ONCE) break;
      after = rows.at(-1)?.id ?? null;
    }
    index.horizon = now?.horizon ?? index.horizon;
    index.epoch = now?.epoch ?? '';
    index.readAtMs = clock.now();
    return index;
  }

  function makeRoom(companyId: string): void {
    let total = 0;
    for (const { talents, jobs } of loaded.values()) total += talents.size + jobs.size;
    for (const [other, { talents, jobs }] of loaded) {
      if (total <= MOST_SUBJECTS) return;
      if (other === companyId) continue;
      loaded.delete(other);
      total -= talents.size + jobs.size;
    }
  }

  return {
    async open(companyId) {
      const before = loaded.get(companyId);
      const isFresh = before !== undefined && clock.now() - before.readAtMs < INDEX_LIFETIME_MS;
      const index = await refresh(companyId, isFresh ? before : emptyIndex());
      // Map order: the most recently used index is last.
      loaded.delete(companyId);
      loaded.set(companyId, index);
      makeRoom(companyId);
      return index;
    },
  };
}

function emptyIndex(): LoadedIndex {
  const maps = { talents: new Map(), jobs: new Map(), talentsBySkill: new Map(), jobsBySkill: new Map() };
  return { ...maps, horizon: '0', epoch: '', readAtMs: 0 };
}

function load(index: LoadedIndex, { id, kind, version, facts, vector, model }: Row): void {
  const isTalent = kind === 'talent';
  const known = isTalent ? index.talents.get(id) : index.jobs.get(id);
  if (known !== undefined && known.version > version) return;
  const bySkill = isTalent ? index.talentsBySkill : index.jobsBySkill;
  if (known !== undefined) for (const skill of skillsOf(known)) bySkill.get(skill)?.delete(id);
  if (facts === null) {
    (isTalent ? index.talents : index.jobs).delete(id);
    return;
  }
  const stored = vectorFrom(model, vector);
  const features = isTalent
    ? talentFeatures(id, version, facts as TalentFacts, stored)
    : jobFeatures(id, version, facts as JobFacts, stored);
  if ('weighed' in features) index.talents.set(id, features);
  else index.jobs.set(id, features);
  for (const skill of skillsOf(features)) {
    const ids = bySkill.get(skill) ?? new Set<string>();
    ids.add(id);
    bySkill.set(skill, ids);
  }
}

function skillsOf(features: TalentFeatures | JobFeatures): Iterable<string> {
  return 'weighed' in features ? features.weighed : features.relevantSkills;
}

/** Candidates per changed talent or job. If the company has fewer, all of them are candidates. */
const MOST_CANDIDATES = 200;

/** The value of a shared skill, relative to a cosine. Common skills count less, as in a search engine. */
const SKILL_WORTH = 0.15;
const TITLE_WORTH = 0.3;

/**
 * The candidates worth scoring: the nearest by vector, shared skills and title combined. It considers all jobs, but
 * only by a dot product and a few set lookups: 10,000 take a few milliseconds, whereas scoring them all would take a
 * hundred.
 */
export function candidateJobs(talent: TalentFeatures, index: CompanyIndex): readonly string[] {
  if (index.jobs.size <= MOST_CANDIDATES) return [...index.jobs.keys()];
  const shared = sharedSkills(talent.weighed, index.jobsBySkill, index.jobs.size);
  return bestCandidates(index.jobs, (id, job) => (shared.get(id) ?? 0) + nearness(talent, job));
}

export function candidateTalents(job: JobFeatures, index: CompanyIndex): readonly string[] {
  if (index.talents.size <= MOST_CANDIDATES) return [...index.talents.keys()];
  const shared = sharedSkills(job.relevantSkills, index.talentsBySkill, index.talents.size);
  return bestCandidates(index.talents, (id, talent) => (shared.get(id) ?? 0) + nearness(talent, job));
}

/** By title and vector. */
function nearness(talent: TalentFeatures, job: JobFeatures): number {
  const [title] = talent.titles;
  const byTitle = title === undefined ? 0 : titleCloseness(title, job.title) * TITLE_WORTH;
  return byTitle + (cosine(talent.vector, job.vector) ?? 0);
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

function bestCandidates<Features>(
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
