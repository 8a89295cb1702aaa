import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import { keptEvidence } from './kept-evidence.ts';
import { checkProfile, fieldsOfProfile } from './profile-fields.ts';
import type { Talent } from './talent.ts';
import { lockTalent, writeTalent } from './write-talent.ts';

export interface TalentEdit {
  readonly companyId: string;
  readonly talentId: string;
  readonly changedBy: string;
  /** The whole profile, in the place of the one before. */
  readonly profile: unknown;
}

export type ChangedTalent =
  | { readonly outcome: 'changed'; readonly talent: Talent }
  | { readonly outcome: 'no-such-talent' }
  | { readonly outcome: 'invalid'; readonly message: string };

/**
 * A person's word counts more than a reading: whoever was PENDING or FAILED is READY with it, and evidence of
 * what they changed is gone. The reading that was under way then finds nothing to do.
 */
export async function changeTalent(
  transaction: Transaction,
  clock: Clock,
  { companyId, talentId, changedBy, profile: wanted }: TalentEdit,
): Promise<ChangedTalent> {
  const checked = checkProfile(wanted);
  if (checked.outcome === 'invalid') return checked;
  const old = await lockTalent(transaction, companyId, talentId);
  if (old === null) return { outcome: 'no-such-talent' };
  const { profile } = checked;
  const next = {
    ...old,
    status: 'READY',
    profile,
    ...fieldsOfProfile(profile),
    evidence: keptEvidence(old.evidence, old.profile, profile),
    problem: null,
  } as const;
  const change = { what: 'edited', changedBy, at: new Date(clock.now()) } as const;
  return { outcome: 'changed', talent: await writeTalent(transaction, next, change) };
}
