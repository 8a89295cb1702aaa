import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { storedVector } from '../src/domain/matching/facts/facts.ts';
import { createSkillVocabulary } from '../src/domain/matching/facts/qualifications.ts';
import { readJob } from '../src/domain/matching/facts/read-job.ts';
import { readTalent } from '../src/domain/matching/facts/read-talent.ts';
import { createCompanyIndexes } from '../src/domain/matching/generator/company-index.ts';
import { workOffChanges } from '../src/domain/matching/generator/process-changes.ts';
import { type PairWorkParts, workOffPairs } from '../src/domain/matching/generator/process-pairs.ts';
import { explainPair } from '../src/domain/matching/scoring/explain-pair.ts';
import { jobFeatures, talentFeatures } from '../src/domain/matching/scoring/features.ts';
import { scorePair } from '../src/domain/matching/scoring/score-pair.ts';
import { DEFAULT_WEIGHTS } from '../src/domain/matching/weights.ts';
import type { Database } from '../src/ports/database.ts';
import { createSeededRandom } from '../test/doubles/seeded-random.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median } from './frame/median.ts';
import { benchJob, benchProfile, fillCompany, quickVectors } from './matching-world.ts';

interface Size {
  readonly talents: number;
  readonly jobs: number;
}
/** The aim is for the one in the middle; the others say how the time grows. */
const SMALL: Size = { talents: 1_000, jobs: 100 };
const USUAL: Size = { talents: 10_000, jobs: 1_000 };
const LARGE: Size = { talents: 100_000, jobs: 10_000 };
const AGAIN = 7;
const UP_TO_DATE_BELOW_MS = 1_000;

export const matching: Measurement = {
  name: 'matching',
  what: 'pairs scored a second on one core without a model; and one new talent or job until its scores are stored',
  async run(context) {
    const rows = [pairsASecond('pairs, in numbers', false), pairsASecond('pairs, with their words', true)];
    return [...rows, ...(await atSizes(context, [SMALL, USUAL]))];
  },
};

export const matchingLarge: Measurement = {
  name: 'matching-large',
  what: 'one new talent or job until its scores are stored, at ten times the size',
  // A hundred thousand talents have to be made and written first.
  withinMs: 900_000,
  run: (context) => atSizes(context, [USUAL, LARGE]),
};

async function atSizes(context: BenchContext, sizes: readonly Size[]): Promise<readonly Row[]> {
  const database = await openPostgres({
    url: await context.emptyDatabase(),
    log: createSilentLog(),
    applicationName: 'bench',
    poolSize: 4,
    maxWaiting: 1_000,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 120_000,
  });
  context.whenEnding(database.close);
  await migrate(database);
  const rows: Row[] = [];
  for (const size of sizes) rows.push(...(await upToDate(database, size, rows)));
  return rows;
}

function pairsASecond(label: string, isWorded: boolean): Row {
  const random = createSeededRandom(7);
  const vocabulary = createSkillVocabulary();
  const vector = () =>
    storedVector(
      'bench',
      Array.from({ length: 384 }, () => random.below(2_000) / 1_000 - 1),
    );
  const talents = Array.from({ length: 500 }, (_, at) =>
    talentFeatures(
      String(at),
      1,
      readTalent({ profile: benchProfile(random), document: null, text: null, evidence: null }, vocabulary),
      vector(),
    ),
  );
  const jobs = Array.from({ length: 100 }, (_, at) =>
    jobFeatures(String(at), 1, readJob(benchJob(random), vocabulary), vector()),
  );
  const rates = Array.from({ length: 5 }, () => {
    // The core's own time: what else runs on the machine must not count.
    const begun = process.cpuUsage();
    for (const talent of talents) {
      for (const job of jobs) {
        const scored = scorePair(talent, job, DEFAULT_WEIGHTS);
        if (isWorded) explainPair(talent, job, scored, DEFAULT_WEIGHTS);
      }
    }
    const { user, system } = process.cpuUsage(begun);
    return (talents.length * jobs.length * 1_000_000) / (user + system);
  });
  return { label, value: median(rates), unit: '/s', range: [Math.min(...rates), Math.max(...rates)] };
}

async function upToDate(database: Database, size: Size, before: readonly Row[]): Promise<readonly Row[]> {
  const [clock, secrets, log] = [createSystemClock(), createSystemSecrets(), createSilentLog()];
  const companyId = await fillCompany(database, secrets, size);
  const indexes = createCompanyIndexes({ database, clock });
  const begun = performance.now();
  await indexes.open(companyId);
  const readMs = performance.now() - begun;
  const vocabulary = createSkillVocabulary();
  const parts: PairWorkParts = {
    database,
    clock,
    secrets,
    log,
    indexes,
    vocabulary,
    modelCalls: quickVectors,
  };
  const random = createSeededRandom(11);
  const addTalent = () =>
    database.query(
      `insert into talents (id, company_id, status, profile, created_at, updated_at)
       values ($1, $2, 'READY', $3, now(), now())`,
      [secrets.newId(), companyId, benchProfile(random)],
    );
  const addJob = () => {
    const { title, description, location, mustHave, niceToHave } = benchJob(random);
    return database.query(
      `insert into jobs (id, company_id, status, title, description, location, must_have, nice_to_have, created_at,
         updated_at) values ($1, $2, 'ACTIVE', $3, $4, $5, $6::text[], $7::text[], now(), now())`,
      [secrets.newId(), companyId, title, description, location, mustHave, niceToHave],
    );
  };
  const name = `${size.talents.toLocaleString('en')} talents, ${size.jobs.toLocaleString('en')} jobs`;
  const measured = [
    { label: `${name}: the index read whole, once`, times: [readMs] },
    { label: `${name}: one new talent`, times: await timed(parts, addTalent) },
    { label: `${name}: one new job`, times: await timed(parts, addJob) },
  ];
  return measured.map(({ label, times }) => row(label, times, before));
}

/** From the commit of what is new to the commit of its last score. */
async function timed(parts: PairWorkParts, add: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < AGAIN; n += 1) {
    await add();
    const begun = performance.now();
    for (;;) {
      const claim = (limit: number) => ({
        id: parts.secrets.newId(),
        nowMs: parts.clock.now(),
        leaseMs: 60_000,
        limit,
      });
      const changes = await workOffChanges(parts, claim(16), new AbortController().signal);
      const pairs = await workOffPairs(parts, claim(500));
      if (changes.claimed + pairs.claimed === 0) break;
    }
    times.push(performance.now() - begun);
  }
  return times;
}

function row(label: string, times: readonly number[], before: readonly Row[]): Row {
  const same = before.find((one) => one.label.split(': ')[1] === label.split(': ')[1] && one.unit === 'ms');
  const value = median(times);
  const beside =
    same === undefined ? {} : { beside: { reference: 'a tenth of it', ratio: value / same.value } };
  const range = [Math.min(...times), Math.max(...times)] as const;
  const aim =
    label.startsWith('10,000') && label.includes('one new') ? { aim: { below: UP_TO_DATE_BELOW_MS } } : {};
  return { label, value, unit: 'ms', range, ...aim, ...beside };
}
