import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import { isObject } from '../../ports/json-object.ts';
import { checkProfile, fieldsOfProfile, remainingEvidence } from './profile.ts';
import { lockTalent, type Profile, type Talent, writeTalent } from './talent.ts';

/**
 * Changes that a newer CV would make to a profile that a person has edited. A proposal is open until a person accepts
 * it, in full or in part, or rejects it, or until a later CV replaces it. It is deleted with either of its talents.
 */
export interface TalentProposal {
  readonly id: string;
  readonly talentId: string;
  readonly fromTalentId: string;
  readonly createdAt: Date;
  readonly changes: readonly ProposedChange[];
}

interface ProposedChange {
  /** For example `work`, or `basics.email` for a field of basics. */
  readonly field: string;
  /** Undefined if the profile has no value. */
  readonly before: unknown;
  readonly after: unknown;
}

interface StoredProposal {
  readonly id: string;
  readonly talentId: string;
  readonly fromTalentId: string;
  readonly createdAt: Date;
  readonly profile: Profile;
}

const PROPOSAL_COLUMNS = `proposal.id, proposal.talent_id as "talentId", proposal.from_talent_id as "fromTalentId",
  proposal.created_at as "createdAt", proposal.profile`;

/** Replaces an open proposal. Does nothing if the CV has nothing new. */
export async function proposeChange(
  transaction: Transaction,
  { earlier, talent, at }: { readonly earlier: Talent; readonly talent: Talent; readonly at: Date },
): Promise<void> {
  if (talent.profile === null || changesBetween(earlier.profile, talent.profile).length === 0) return;
  await transaction.query(
    `update talent_proposals set decision = 'replaced', decided_at = $2 where talent_id = $1 and decision is null`,
    [earlier.id, at],
  );
  await transaction.query(
    `insert into talent_proposals (talent_id, from_talent_id, profile, created_at) values ($1, $2, $3, $4)`,
    [earlier.id, talent.id, talent.profile, at],
  );
}

/** Open proposals by talent. Values that the profile already has are no longer listed as changes. */
export async function readOpenProposals(
  statements: Statements,
  companyId: string,
  talentIds: readonly string[],
): Promise<ReadonlyMap<string, TalentProposal>> {
  const rows = await statements.query<StoredProposal & { current: Profile | null }>(
    `select ${PROPOSAL_COLUMNS}, talent.profile as current
     from talent_proposals as proposal join talents as talent on talent.id = proposal.talent_id
     where talent.company_id = $1 and proposal.talent_id = any($2::uuid[]) and proposal.decision is null`,
    [companyId, talentIds],
  );
  const open = rows.map(({ profile, current, ...proposal }) => {
    return [proposal.talentId, { ...proposal, changes: changesBetween(current, profile) }] as const;
  });
  return new Map(open.filter(([, { changes }]) => changes.length > 0));
}

interface Decision {
  readonly companyId: string;
  readonly proposalId: string;
  readonly decidedBy: string;
}

type DecidedProposal =
  | { readonly outcome: 'decided'; readonly talent: Talent }
  | { readonly outcome: 'no-such-proposal' }
  | { readonly outcome: 'invalid'; readonly message: string };

/** Accepts all fields, or those named; the rest of the profile is unchanged. Scores are updated, as after an edit. */
export async function acceptProposal(
  transaction: Transaction,
  clock: Clock,
  { companyId, proposalId, decidedBy, fields }: Decision & { readonly fields: readonly string[] | null },
): Promise<DecidedProposal> {
  const found = await lockProposal(transaction, companyId, proposalId);
  if (found === null) return { outcome: 'no-such-proposal' };
  const { talent, proposal } = found;
  const changes = changesBetween(talent.profile, proposal.profile);
  const unknown = fields?.find((field) => !changes.some((change) => change.field === field));
  if (unknown !== undefined)
    return { outcome: 'invalid', message: `the proposal does not change ${unknown}` };
  const chosen = changes.filter(({ field }) => fields === null || fields.includes(field));
  if (chosen.length === 0) return { outcome: 'invalid', message: 'name at least one field, or reject it' };
  const checked = checkProfile(merged(talent.profile ?? {}, chosen));
  if (checked.outcome === 'invalid') return checked;
  const { profile } = checked;
  const at = new Date(clock.now());
  const next = {
    ...talent,
    status: 'READY',
    profile,
    ...fieldsOfProfile(profile),
    evidence: remainingEvidence(talent.evidence, talent.profile, profile),
    problem: null,
  } as const;
  const from = { talentId: proposal.fromTalentId, replaced: null };
  const written = await writeTalent(transaction, next, { what: 'edited', changedBy: decidedBy, at, from });
  await decide(transaction, proposalId, 'accepted', decidedBy, at);
  return { outcome: 'decided', talent: written };
}

export async function rejectProposal(
  transaction: Transaction,
  clock: Clock,
  { companyId, proposalId, decidedBy }: Decision,
): Promise<DecidedProposal> {
  const found = await lockProposal(transaction, companyId, proposalId);
  if (found === null) return { outcome: 'no-such-proposal' };
  await decide(transaction, proposalId, 'rejected', decidedBy, new Date(clock.now()));
  return { outcome: 'decided', talent: found.talent };
}

/** An open proposal with its talent, both locked. */
async function lockProposal(
  transaction: Transaction,
  companyId: string,
  proposalId: string,
): Promise<{ readonly talent: Talent; readonly proposal: StoredProposal } | null> {
  const [known] = await transaction.query<{ talentId: string }>(
    'select talent_id as "talentId" from talent_proposals where id = $1',
    [proposalId],
  );
  // Locks the talent first, in the same order as the creation of a proposal.
  const talent = known === undefined ? null : await lockTalent(transaction, companyId, known.talentId);
  if (talent === null) return null;
  const [proposal] = await transaction.query<StoredProposal>(
    `select ${PROPOSAL_COLUMNS} from talent_proposals as proposal where id = $1 and decision is null for update`,
    [proposalId],
  );
  return proposal === undefined ? null : { talent, proposal };
}

async function decide(
  transaction: Transaction,
  proposalId: string,
  decision: 'accepted' | 'rejected',
  decidedBy: string,
  at: Date,
): Promise<void> {
  await transaction.query(
    'update talent_proposals set decision = $2, decided_by = $3, decided_at = $4 where id = $1',
    [proposalId, decision, decidedBy, at],
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields that a CV lacks are not removed: people add facts that are in no CV. */
function changesBetween(before: Profile | null, after: Profile): readonly ProposedChange[] {
  const changes: ProposedChange[] = [];
  const compare = (prefix: string, old: Fields, next: Fields) => {
    for (const [name, value] of Object.entries(next)) {
      if (prefix === '' && name === 'basics') continue;
      if (isNothing(value) || JSON.stringify(old[name]) === JSON.stringify(value)) continue;
      changes.push({ field: `${prefix}${name}`, before: old[name], after: value });
    }
  };
  compare('basics.', objectOf(before?.basics), objectOf(after.basics));
  compare('', before ?? {}, after);
  return changes;
}

function merged(profile: Profile, changes: readonly ProposedChange[]): Profile {
  const basics = { ...objectOf(profile.basics) };
  const next: Record<string, unknown> = { ...profile };
  for (const { field, after } of changes) {
    if (field.startsWith('basics.')) basics[field.slice('basics.'.length)] = after;
    else next[field] = after;
  }
  return { ...next, basics };
}

function isNothing(value: unknown): boolean {
  return (
    value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

function objectOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
