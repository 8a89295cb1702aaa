import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createEmbeddedEngine } from '../src/domain/documents/embedded-engine.ts';
import { fieldsOfPosting } from '../src/domain/jobs/read-posting.ts';
import type { StoredVector, TextsToEmbed } from '../src/domain/matching/facts/facts.ts';
import { createSkillVocabulary } from '../src/domain/matching/facts/qualifications.ts';
import { jobTexts, readJob } from '../src/domain/matching/facts/read-job.ts';
import { readTalent, talentTexts } from '../src/domain/matching/facts/read-talent.ts';
import { type JobFeatures, jobFeatures, talentFeatures } from '../src/domain/matching/scoring/features.ts';
import { type Comparison, comparePair } from '../src/domain/matching/scoring/score-pair.ts';
import { bm25Scores } from './bm25.ts';

export type Embed = (texts: TextsToEmbed) => Promise<StoredVector | null>;

/** One thing that something is ranked for: a job, or a CV where there are more jobs than CVs. */
export interface JudgedQuery {
  readonly name: string;
  readonly documents: readonly JudgedDocument[];
}

export interface JudgedDocument {
  readonly grade: number;
  /** Null for a text that is not taken for a CV: the product has no score for it, so it comes last. */
  readonly pair: Comparison | null;
  readonly bm25: number;
}

export interface JudgedSource {
  readonly name: string;
  readonly jobs: number;
  readonly cvs: number;
  readonly refused: number;
  readonly isByCv: boolean;
  readonly queries: readonly JudgedQuery[];
}

const TODAY = { year: 2025, month: 1 };
const vocabulary = createSkillVocabulary();

/** The folders below and including `folder` that hold jobs, CVs and judgements, by name. */
export function judgedFolders(folder: string): readonly (readonly [string, string])[] {
  const below = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isFile())
    .map(({ name }) => [name, join(folder, name)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return [[basename(folder), folder] as const, ...below].filter(([, path]) =>
    existsSync(join(path, 'judgements.tsv')),
  );
}

/**
 * Every document goes the way it goes in the product: read by the embedded engine, made into facts, embedded by `embed`,
 * compared.
 */
export async function readJudged(name: string, folder: string, embed: Embed): Promise<JudgedSource> {
  const engine = createEmbeddedEngine();
  const jobs = textsOf(join(folder, 'jobs'));
  const cvs = textsOf(join(folder, 'cvs'));
  const grades = judgementsOf(join(folder, 'judgements.tsv'));
  const wanted = new Map<string, JobFeatures>();
  for (const [id, text] of jobs) {
    const { posting } = engine.parsePosting(text);
    const read = posting === null ? {} : fieldsOfPosting(posting);
    const nothing = { location: null, remote: false, minMonthsExperience: null, isMustGiven: false };
    const title = text.split('\n')[0] ?? '';
    const stored = { ...nothing, title, description: text, mustHave: [], niceToHave: [], ...read, posting };
    const facts = readJob(stored, vocabulary);
    wanted.set(id, jobFeatures(id, 1, facts, await embed(jobTexts(facts, stored))));
  }
  const pairs = new Map<string, Comparison>();
  let refused = 0;
  for (const [id, text] of cvs) {
    const { profile, document, evidence } = engine.parseCv(text, TODAY);
    if (profile === null) refused += 1;
    if (profile === null) continue;
    const stored = { profile, document, evidence, text };
    const facts = readTalent(stored, vocabulary);
    const talent = talentFeatures(id, 1, facts, await embed(talentTexts(facts, stored)));
    for (const [jobId, job] of wanted) pairs.set(`${jobId} ${id}`, comparePair(talent, job));
  }
  const isByCv = jobs.size > cvs.size;
  const [queries, documents] = isByCv ? [cvs, jobs] : [jobs, cvs];
  const judged = [...queries].map(([query, text]): JudgedQuery => {
    const lexical = bm25Scores(text, documents);
    return {
      name: query,
      documents: [...documents.keys()].map((id): JudgedDocument => {
        const [job, cv] = isByCv ? [id, query] : [query, id];
        const pair = pairs.get(`${job} ${cv}`) ?? null;
        return { grade: grades.get(`${job} ${cv}`) ?? 0, pair, bm25: lexical.get(id) ?? 0 };
      }),
    };
  });
  return {
    ...{ name, jobs: jobs.size, cvs: cvs.size, refused, isByCv },
    queries: judged.filter(({ documents: each }) => each.some(({ grade }) => grade >= RELEVANT)),
  };
}

/** From this grade on a document counts as right. */
export const RELEVANT = 2;

function textsOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.txt'));
  return new Map(names.sort().map((name) => [name.slice(0, -4), readFileSync(join(folder, name), 'utf8')]));
}

/** By job and CV. */
function judgementsOf(file: string): ReadonlyMap<string, number> {
  const grades = new Map<string, number>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [job, cv, grade] = line.split('\t');
    if (line.startsWith('#') || job === undefined || cv === undefined || grade === undefined) continue;
    grades.set(`${job} ${cv}`, Number(grade));
  }
  return grades;
}
