export type TalentStatus = 'PENDING' | 'READY' | 'FAILED';
export type Profile = Readonly<Record<string, unknown>>;

export interface Talent {
  readonly id: string;
  readonly companyId: string;
  readonly version: number;
  readonly status: TalentStatus;
  readonly name: string | null;
  /** Lowercase. */
  readonly email: string | null;
  /** Digits alone. */
  readonly phone: string | null;
  readonly headline: string | null;
  /** JSON Resume with our additions; null until there is one. */
  readonly profile: Profile | null;
  readonly evidence: readonly unknown[] | null;
  readonly document: Readonly<Record<string, unknown>> | null;
  readonly engine: 'model' | 'embedded' | null;
  readonly problem: string | null;
  readonly duplicateOf: string | null;
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A CV as it was pasted or uploaded. */
export interface TalentFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A row of `talents` as a Talent. */
export const TALENT_COLUMNS = `id, company_id as "companyId", version, status, name, email, phone, headline, profile,
  evidence, document, engine, problem, duplicate_of as "duplicateOf", created_by as "createdBy",
  created_at as "createdAt", updated_at as "updatedAt"`;
