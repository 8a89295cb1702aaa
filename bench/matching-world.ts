import { addCompany } from '../src/domain/accounts/company.ts';
import {
  type JobFacts,
  SCORER_VERSION,
  storedVector,
  type TalentFacts,
  vectorBytes,
} from '../src/domain/matching/facts/facts.ts';
import { createSkillVocabulary } from '../src/domain/matching/facts/qualifications.ts';
import { readJob, type StoredJob } from '../src/domain/matching/facts/read-job.ts';
import { readTalent } from '../src/domain/matching/facts/read-talent.ts';
import { NO_MODEL_CALLS, type PlatformModelCalls } from '../src/domain/matching/generator/model-calls.ts';
import type { Database } from '../src/ports/database.ts';
import type { Secrets } from '../src/ports/secrets.ts';
import { createSeededRandom, type SeededRandom } from '../test/doubles/seeded-random.ts';

const SKILLS =
  `Python|Java|JavaScript|TypeScript|React|Angular|Vue.js|Node.js|SQL|PostgreSQL|MySQL|MongoDB|Redis|Kafka|Docker|
  Kubernetes|Terraform|AWS|Microsoft Azure|Google Cloud Platform|Linux|Git|Jenkins|Spring Boot|Django|Flask|C#|.NET|C++|Go|
  Rust|Scala|Spark|Airflow|Tableau|Power BI|Machine learning|Deep learning|PyTorch|TensorFlow|Figma|Accounting|SAP|Excel|
  Salesforce|SEO|Google Ads|Recruitment|Payroll|Nursing|Patient care|Teaching|Logistics|Welding|CNC|AutoCAD`
    .split('|')
    .map((name) => name.trim());
const TITLES =
  'Software Engineer|Backend Developer|Frontend Developer|Data Scientist|DevOps Engineer|QA Engineer|Accountant|Nurse|Sales Manager|Recruiter|Product Manager|Teacher'.split(
    '|',
  );
const WORDS =
  'built led designed shipped maintained reduced improved migrated automated monitored reporting platform customers payments pipelines dashboards billing warehouse clinic store release quality budget hiring training safety'.split(
    ' ',
  );
const DIMENSIONS = 384;
const vocabulary = createSkillVocabulary();

/** Vectors of as many numbers as the embedded model gives, without the model: the time of matching alone is measured. */
export const quickVectors: PlatformModelCalls = {
  ...NO_MODEL_CALLS,
  embed: async ({ texts }) => ({
    outcome: 'embedded',
    model: 'bench',
    vectors: texts.map((_, at) => numbers(createSeededRandom(at))),
  }),
};

function numbers(random: SeededRandom): number[] {
  return Array.from({ length: DIMENSIONS }, () => random.below(2_000) / 1_000 - 1);
}

function some<T>(random: SeededRandom, from: readonly T[], count: number): T[] {
  return [...new Set(Array.from({ length: count }, () => random.pick(from)))];
}

export function benchProfile(random: SeededRandom): Record<string, unknown> {
  const roles = Array.from({ length: 3 }, (_, at) => ({
    position: random.pick(TITLES),
    startDate: `${2015 + at * 3}-01`,
    endDate: `${2017 + at * 3}-12`,
    highlights: Array.from({ length: 4 }, () => some(random, WORDS, 9).join(' ')),
  }));
  return {
    work: roles,
    skills: some(random, SKILLS, 14).map((name) => ({ name })),
    education: [{ studyType: 'Bachelor of Science', area: 'Computer Science' }],
    languages: [{ language: 'English', fluency: 'fluent' }],
    basics: { location: { city: 'Berlin', countryCode: 'DE' } },
    total_months_experience: 12 + random.below(150),
  };
}

export function benchJob(random: SeededRandom): StoredJob {
  return {
    title: random.pick(TITLES),
    description: some(random, WORDS, 20).join(' '),
    location: 'Berlin, Germany',
    remote: random.below(3) === 0,
    mustHave: [...some(random, SKILLS, 5), 'Fluent English', "Bachelor's degree"],
    niceToHave: some(random, SKILLS, 4),
    minMonthsExperience: 36,
    posting: null,
  };
}

/** Reading takes a thousand times as long as copying: of more than these, facts come again, each with another vector. */
const DIFFERENT = 2_000;

function readBench(kind: 'talent' | 'job', random: SeededRandom): TalentFacts | JobFacts {
  return kind === 'talent'
    ? readTalent({ profile: benchProfile(random), document: null, text: null, evidence: null }, vocabulary)
    : readJob(benchJob(random), vocabulary);
}

/** A company with so many talents and jobs that are ready for matching, and nothing in line. */
export async function fillCompany(
  database: Database,
  secrets: Secrets,
  { talents, jobs }: { readonly talents: number; readonly jobs: number },
): Promise<string> {
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Bench', billingMode: 'PREPAID' });
  const random = createSeededRandom(talents);
  for (const [kind, count] of [
    ['talent', talents],
    ['job', jobs],
  ] as const) {
    const made: (TalentFacts | JobFacts)[] = [];
    for (let from = 0; from < count; from += 500) {
      const rows = Array.from({ length: Math.min(500, count - from) }, (_, at) => {
        const vector = storedVector('bench', numbers(random));
        const facts = from + at < DIFFERENT ? readBench(kind, random) : random.pick(made);
        if (from + at < DIFFERENT) made.push(facts);
        return { id: secrets.newId(), facts, vector: vector === null ? '' : vectorBytes(vector).toHex() };
      });
      await insertRows(database, companyId, kind, rows);
    }
  }
  await database.query('delete from match_changes where company_id = $1', [companyId]);
  await database.script('analyze match_subjects');
  return companyId;
}

async function insertRows(
  database: Database,
  companyId: string,
  kind: 'talent' | 'job',
  rows: readonly { readonly id: string }[],
): Promise<void> {
  const named = `jsonb_to_recordset($2::jsonb -> 'rows') as r (id uuid, facts jsonb, vector text)`;
  const own =
    kind === 'talent'
      ? `insert into talents (id, company_id, status, profile, created_at, updated_at)
         select id, $1, 'READY', '{}', now(), now() from ${named}`
      : `insert into jobs (id, company_id, status, title, description, created_at, updated_at)
         select id, $1, 'ACTIVE', 'Bench', '', now(), now() from ${named}`;
  await database.query(own, [companyId, { rows: rows.map(({ id }) => ({ id })) }]);
  await database.query(
    `insert into match_subjects (subject_id, kind, company_id, version, is_live, facts, vector, embed_model,
       scorer_version, written_at)
     select id, $3, $1, 1, true, facts, decode(vector, 'hex'), 'bench', ${SCORER_VERSION}, now() from ${named}`,
    [companyId, { rows }, kind],
  );
}
