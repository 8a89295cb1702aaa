import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createSkillVocabulary } from '../../src/domain/matching/facts/qualifications.ts';
import { createCompanyIndexes } from '../../src/domain/matching/generator/company-index.ts';
import type { GeneratorParts } from '../../src/domain/matching/generator/generator.ts';
import { NO_MODEL_CALLS, type PlatformModelCalls } from '../../src/domain/matching/generator/model-calls.ts';
import { workOffChanges } from '../../src/domain/matching/generator/process-changes.ts';
import { workOffPairs } from '../../src/domain/matching/generator/process-pairs.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database } from '../../src/ports/database.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

const secrets = createSystemSecrets();

/** Vectors that tell texts apart by their letters: near for texts that are nearly the same. */
export const letterVectors: PlatformModelCalls = {
  ...NO_MODEL_CALLS,
  embed: async ({ texts }) => ({
    outcome: 'embedded',
    model: 'letters',
    vectors: texts.map((text) => {
      const counts = Array.from({ length: 26 }, () => 0);
      for (const letter of text.toLowerCase()) {
        const at = letter.charCodeAt(0) - 97;
        if (at >= 0 && at < 26) counts[at] = (counts[at] ?? 0) + 1;
      }
      return counts;
    }),
  }),
};

interface JobSketch {
  readonly title?: string;
  readonly mustHave?: readonly string[];
  readonly niceToHave?: readonly string[];
  readonly location?: string;
  readonly remote?: boolean;
  readonly minMonths?: number;
  readonly status?: 'DRAFT' | 'ACTIVE' | 'CLOSED';
}

interface TalentSketch {
  readonly skills?: readonly string[];
  readonly title?: string;
  readonly months?: number;
  readonly profile?: Readonly<Record<string, unknown>>;
}

/** Parts of a generator on a database, with a company in it. */
export async function openMatchingWorld(
  database: Database,
  changes: Partial<GeneratorParts> & { clock?: Clock } = {},
) {
  const clock = changes.clock ?? createManualClock();
  const { log, entries } = createRecordingLog();
  const indexes = createCompanyIndexes({ database, clock });
  const vocabulary = createSkillVocabulary();
  const parts: GeneratorParts = {
    database,
    clock,
    log,
    secrets,
    indexes,
    vocabulary,
    modelCalls: letterVectors,
    ...changes,
  };
  const companyId = await addTestCompany(database);
  const claim = (limit = 1_000) => ({ id: secrets.newId(), nowMs: clock.now(), leaseMs: 60_000, limit });
  return {
    parts,
    entries,
    companyId,
    clock,
    claim,
    addJob: (sketch: JobSketch = {}) => addJob(database, companyId, sketch),
    addTalent: (sketch: TalentSketch = {}) => addTalent(database, companyId, sketch),
    /** Everything that waits, as one process would do it. */
    async workOff(): Promise<{ processed: number; failed: number }> {
      const total = { processed: 0, failed: 0 };
      for (;;) {
        const worked = await workOffChanges(parts, claim(), new AbortController().signal);
        const pairs = await workOffPairs(parts, claim());
        total.processed += pairs.processed;
        total.failed += pairs.failed + worked.failed;
        if (worked.claimed + pairs.claimed === 0) return total;
      }
    },
  };
}

export async function addTestCompany(database: Database): Promise<string> {
  const id = secrets.newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  return id;
}

export async function addJob(database: Database, companyId: string, sketch: JobSketch): Promise<string> {
  const id = secrets.newId();
  await database.query(
    `insert into jobs (id, company_id, status, title, description, location, remote, must_have, nice_to_have,
       min_months_experience, given, created_at, updated_at)
     values ($1, $2, $3, $4, '', $5, $6, $7::text[], $8::text[], $9, '{mustHave,niceToHave}', now(), now())`,
    [
      id,
      companyId,
      sketch.status ?? 'ACTIVE',
      sketch.title ?? 'Software Engineer',
      sketch.location ?? null,
      sketch.remote ?? false,
      sketch.mustHave ?? ['Python', 'SQL'],
      sketch.niceToHave ?? [],
      sketch.minMonths ?? null,
    ],
  );
  return id;
}

export async function addTalent(
  database: Database,
  companyId: string,
  sketch: TalentSketch,
): Promise<string> {
  const id = secrets.newId();
  await database.query(
    `insert into talents (id, company_id, status, profile, created_at, updated_at)
     values ($1, $2, 'READY', $3, now(), now())`,
    [id, companyId, profileOf(sketch)],
  );
  return id;
}

export function profileOf({ skills, title, months, profile }: TalentSketch): Record<string, unknown> {
  return {
    basics: { name: 'A. Person' },
    work: [
      { position: title ?? 'Software Engineer', startDate: '2020-01', endDate: '2024-12', highlights: [] },
    ],
    skills: (skills ?? ['Python', 'PostgreSQL']).map((name) => ({ name })),
    total_months_experience: months ?? 60,
    ...profile,
  };
}

interface ScoreRow {
  readonly jobId: string;
  readonly talentId: string;
  readonly score: number;
  readonly engine: string;
  readonly reasons: readonly string[];
  readonly missing: readonly string[];
  readonly parts: readonly { readonly name: string; readonly score: number; readonly weight: number }[];
  readonly jobVersion: number;
  readonly talentVersion: number;
}

export async function scoresOf(database: Database, companyId: string): Promise<readonly ScoreRow[]> {
  return await database.query<ScoreRow>(
    `select job_id as "jobId", talent_id as "talentId", score, engine, reasons, missing, parts,
       job_version as "jobVersion", talent_version as "talentVersion"
     from match_scores where company_id = $1 order by score desc, id`,
    [companyId],
  );
}
