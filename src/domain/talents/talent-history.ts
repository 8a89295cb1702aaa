import type { Statements } from '../../ports/database.ts';
import type { Profile } from './talent.ts';
import type { TalentChange } from './write-talent.ts';

export interface TalentVersion {
  readonly version: number;
  readonly what: TalentChange;
  readonly profile: Profile | null;
  /** Null for the CV worker. */
  readonly changedBy: string | null;
  readonly changedByEmail: string | null;
  readonly changedAt: Date;
}

const MOST_VERSIONS = 100;

/** A talent's newest versions, the newest first. */
export async function listTalentVersions(
  statements: Statements,
  companyId: string,
  talentId: string,
): Promise<readonly TalentVersion[]> {
  return await statements.query<TalentVersion>(
    `select own.version, own.what, own.profile, own.changed_by as "changedBy", person.email as "changedByEmail",
       own.changed_at as "changedAt"
     from talent_versions as own join talents as talent on talent.id = own.talent_id
     left join users as person on person.id = own.changed_by
     where own.talent_id = $1 and talent.company_id = $2 order by own.version desc limit ${MOST_VERSIONS}`,
    [talentId, companyId],
  );
}

/**
 * The text into which the talent's evidence points: that of the newest CV that has become the profile. Who came again
 * with a newer CV has that one's evidence, and the file stands under the row that was linked. Null where no text was read.
 */
export async function readTalentText(
  statements: Statements,
  companyId: string,
  talentId: string,
): Promise<string | null> {
  const rows = await statements.query<{ text: string }>(
    `select file.text from talent_files as file
     where file.company_id = $2 and file.text is not null and file.talent_id = coalesce(
       (select talent_id from talent_decisions
        where earlier_id = $1 and effect = 'updated' order by id desc limit 1), $1::uuid)
     order by file.id desc limit 1`,
    [talentId, companyId],
  );
  return rows[0]?.text ?? null;
}
