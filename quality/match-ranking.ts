/**
 * `bun quality/match-ranking.ts [FOLDER]`: how well matching orders the CVs of a folder for its jobs, beside BM25 on the
 * same texts. FOLDER (quality/matches unless told) holds jobs/*.txt, cvs/*.txt and judgements.tsv with lines of job, CV
 * and grade, 0 to 3; a pair without a line is a 0. Every document goes the way it goes in the product: read by the embedded
 * engine, made into facts, embedded by the embedded model, scored. What is not taken for a CV has no score and comes last.
 * Where FOLDER has a folder `held-out` of the same form, that is measured after it, by itself.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { createEmbeddedUpstream } from '../src/adapters/model-upstream/embedded.ts';
import { createTextVectors } from '../src/adapters/networks/text-vectors.ts';
import { createEmbeddedEngine } from '../src/domain/documents/embedded-engine.ts';
import { fieldsOfPosting } from '../src/domain/jobs/read-posting.ts';
import { type StoredVector, storedVector } from '../src/domain/matching/facts/facts.ts';
import { createSkillVocabulary } from '../src/domain/matching/facts/qualifications.ts';
import { jobText, readJob } from '../src/domain/matching/facts/read-job.ts';
import { readTalent, talentText } from '../src/domain/matching/facts/read-talent.ts';
import {
  type JobFeatures,
  jobFeatures,
  type TalentFeatures,
  talentFeatures,
} from '../src/domain/matching/scoring/features.ts';
import { scorePair } from '../src/domain/matching/scoring/score-pair.ts';
import { DEFAULT_WEIGHTS } from '../src/domain/matching/weights.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { textIn } from '../test/doubles/upstream-body.ts';
import { bm25Ranking } from './bm25.ts';
import { averagePrecision, normalisedGain } from './ranking-figures.ts';

type Ranking = (job: string) => readonly string[];

const TODAY = { year: 2025, month: 1 };
const RELEVANT = 2;
const vocabulary = createSkillVocabulary();
const engine = createEmbeddedEngine();

export async function measureMatches(folder: string): Promise<readonly string[]> {
  const heldOut = join(folder, 'held-out');
  if (!existsSync(heldOut)) return await measureFolder(folder);
  const [first, second] = [await measureFolder(folder), await measureFolder(heldOut)];
  return ['matches: tuned on', ...first, '', 'matches: held out, nothing was tuned on them', ...second];
}

async function measureFolder(folder: string): Promise<readonly string[]> {
  const jobs = textsOf(join(folder, 'jobs'));
  const cvs = textsOf(join(folder, 'cvs'));
  const grades = judgementsOf(join(folder, 'judgements.tsv'));
  const { embed, close } = openVectors();
  const talents: TalentFeatures[] = [];
  const refused: string[] = [];
  for (const [id, text] of cvs) {
    const { profile, document } = engine.parseCv(text, TODAY);
    if (profile === null) {
      refused.push(id);
      continue;
    }
    const facts = readTalent({ profile, document }, vocabulary);
    talents.push(talentFeatures(id, 1, facts, await embed(talentText(facts))));
  }
  const wanted = new Map<string, JobFeatures>();
  for (const [id, text] of jobs) {
    const { posting } = engine.parsePosting(text);
    const read = posting === null ? {} : fieldsOfPosting(posting);
    const nothing = {
      location: null,
      remote: false,
      mustHave: [],
      niceToHave: [],
      minMonthsExperience: null,
    };
    const title = text.split('\n')[0] ?? '';
    const facts = readJob({ title, description: text, ...nothing, ...read, posting }, vocabulary);
    wanted.set(id, jobFeatures(id, 1, facts, await embed(jobText(facts))));
  }
  await close();
  const bare = talents.map((talent) => ({ ...talent, vector: null }));
  const rankings: readonly (readonly [string, Ranking])[] = [
    ['matching', (job) => [...ranked(talents, wanted.get(job)), ...refused]],
    ['matching, no vectors', (job) => [...ranked(bare, wanted.get(job)), ...refused]],
    ['BM25 on the texts', (job) => bm25Ranking(jobs.get(job) ?? '', cvs)],
  ];
  const lines = [
    `${jobs.size} jobs, ${cvs.size} CVs (${refused.length} not taken for CVs), ${grades.size} jobs with judgements`,
    '',
  ];
  lines.push(`${'ranking'.padEnd(24)}${'MAP'.padStart(8)}${'nDCG@10'.padStart(10)}`);
  for (const [name, ranking] of rankings) {
    const each = [...grades].map(([job, graded]) => {
      const order = ranking(job).map((cv) => graded.get(cv) ?? 0);
      return { map: averagePrecision(order, RELEVANT), gain: normalisedGain(order, 10) };
    });
    const mean = (figure: 'map' | 'gain') => each.reduce((sum, one) => sum + one[figure], 0) / each.length;
    lines.push(
      `${name.padEnd(24)}${mean('map').toFixed(3).padStart(8)}${mean('gain').toFixed(3).padStart(10)}`,
    );
  }
  return lines;
}

function ranked(talents: readonly TalentFeatures[], job: JobFeatures | undefined): readonly string[] {
  if (job === undefined) return [];
  const scored = talents.map((talent) => ({ id: talent.id, ...scorePair(talent, job, DEFAULT_WEIGHTS) }));
  return scored.toSorted((one, other) => other.score - one.score).map(({ id }) => id);
}

/** Of the embedded model, as the embed alias has it without a provider. */
function openVectors(): { embed(text: string): Promise<StoredVector | null>; close(): Promise<void> } {
  const [clock, log] = [createSystemClock(), createSilentLog()];
  const upstream = createEmbeddedUpstream({ clock, log, encoder: createTextVectors({ clock, log }) });
  const target = { id: 'embedded', baseUrl: null, model: 'embedded', apiKey: null };
  return {
    async embed(text) {
      if (text === '') return null;
      const body = new TextEncoder().encode(JSON.stringify({ model: 'embedded', input: [text] }));
      const { signal } = new AbortController();
      const answer = await upstream.send(target, { endpoint: 'embeddings', body, headers: {}, signal });
      const read = JSON.parse(await textIn(answer.body)) as { data: { embedding: number[] }[] };
      return storedVector('embedded', read.data[0]?.embedding ?? []);
    },
    close: () => upstream.close(),
  };
}

function textsOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.txt'));
  return new Map(names.sort().map((name) => [name.slice(0, -4), readFileSync(join(folder, name), 'utf8')]));
}

function judgementsOf(file: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [job, cv, grade] = line.split('\t');
    if (line.startsWith('#') || job === undefined || cv === undefined || grade === undefined) continue;
    grades.set(job, (grades.get(job) ?? new Map<string, number>()).set(cv, Number(grade)));
  }
  return grades;
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(import.meta.dir, 'matches');
  for (const line of await measureMatches(folder)) console.log(line);
}
