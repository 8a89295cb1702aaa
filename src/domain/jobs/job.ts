export type JobStatus = 'DRAFT' | 'ACTIVE' | 'CLOSED';
export type JobParsing = 'NONE' | 'PENDING' | 'DONE' | 'FAILED';

/** What a person may set, and what is read out of a posting where nobody has. */
export interface JobFields {
  readonly title: string;
  readonly description: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly employmentType: string | null;
  readonly mustHave: readonly string[];
  readonly niceToHave: readonly string[];
  readonly minMonthsExperience: number | null;
}

export type JobFieldName = keyof JobFields;

export const JOB_FIELD_NAMES = [
  'title',
  'description',
  'location',
  'remote',
  'employmentType',
  'mustHave',
  'niceToHave',
  'minMonthsExperience',
] as const satisfies readonly JobFieldName[];

export interface Job extends JobFields {
  readonly id: string;
  readonly companyId: string;
  readonly version: number;
  readonly status: JobStatus;
  readonly parsing: JobParsing;
  /** Why it could not be read; null unless `parsing` is FAILED. */
  readonly parseProblem: string | null;
  /** Which engine read the posting; null where none has. */
  readonly engine: 'model' | 'embedded' | null;
  /** The fields that a person has set. */
  readonly given: readonly JobFieldName[];
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A posting as it was pasted or uploaded. */
export interface JobFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A row of `jobs` as a Job. */
export const JOB_COLUMNS = `id, company_id as "companyId", version, status, title, description, location, remote,
  employment_type as "employmentType", must_have as "mustHave", nice_to_have as "niceToHave",
  min_months_experience as "minMonthsExperience", parsing, parse_problem as "parseProblem", engine, given,
  created_by as "createdBy", created_at as "createdAt", updated_at as "updatedAt"`;
