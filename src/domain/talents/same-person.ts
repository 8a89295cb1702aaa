import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import { fieldsOfProfile, remainingEvidence } from './profile.ts';
import { proposeChange } from './proposals.ts';
import { linkTalent, lockRecognition, SEPARATED_FROM, writeDecision } from './recognise.ts';
import {
  findTalents,
  type Profile,
  TALENT_COLUMNS,
  type Talent,
  type TalentReading,
  writeTalent,
} from './talent.ts';

const MOST_POSSIBLE = 20;

/**
 * The talents that have the address or the telephone number of each of these, themselves or in a duplicate, and are not
 * linked with it, oldest first: a user decides whether they are the same person. None for one that is a duplicate.
 */
export async function readPossibleDuplicates(
  statements: Statements,
  companyId: string,
  talentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Talent[]>> {
  const rows = await statements.query<Talent & { of: string }>(
    // Thousands may have the address of an agency: their ids are compared, and only the rows that are shown are read.
    `select own.id as "of", other.* from talents as own
     cross join lateral (select ${SEPARATED_FROM('own.id')} as ids) as separated
     cross join lateral (
       select id from (
         select distinct coalesce(near.duplicate_of, near.id) as id from talents as near
         where near.company_id = $1 and near.status = 'READY' and (near.email = own.email or near.phone = own.phone)
           and near.id <> own.id and near.id <> all(separated.ids)) as found
       where id <> own.id and id <> all(separated.ids) order by id limit ${MOST_POSSIBLE}) as matched
     cross join lateral (select ${TALENT_COLUMNS} from talents where id = matched.id) as other
     where own.company_id = $1 and own.id = any($2::uuid[]) and own.status = 'READY' and own.duplicate_of is null
     order by own.id, other.id`,
    [companyId, talentIds],
  );
  const found = Map.groupBy(rows, (row) => row.of);
  return new Map(Array.from(found, ([id, list]) => [id, list.map(({ of: _, ...talent }) => talent)]));
}

const MOST_DUPLICATES = 100;

/** The newest talents that are linked to each of these. */
export async function readDuplicates(
  statements: Statements,
  companyId: string,
  talentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Talent[]>> {
  const rows = await statements.query<Talent & { duplicateOf: string }>(
    `select linked.* from unnest($2::uuid[]) as own (id) cross join lateral (
       select ${TALENT_COLUMNS} from talents where company_id = $1 and duplicate_of = own.id
       order by id desc limit ${MOST_DUPLICATES}) as linked`,
    [companyId, talentIds],
  );
  return Map.groupBy(rows, ({ duplicateOf }) => duplicateOf);
}

interface TwoTalents {
  readonly companyId: string;
  readonly talentId: string;
  readonly otherId: string;
  readonly decidedBy: string;
}

const UNREAD = 'both must be READY';

type DecidedPair =
  | { readonly outcome: 'decided'; readonly talent: Talent }
  | { readonly outcome: 'no-such-talent' }
  | { readonly outcome: 'not-possible'; readonly message: string };

/**
 * Links a talent to another one on the word of a user, as a person with two addresses is two talents. Its own duplicates
 * go with it. No profile is replaced: what the linked CV would change is proposed.
 */
export async function mergeTalents(
  transaction: Transaction,
  clock: Clock,
  pair: TwoTalents,
): Promise<DecidedPair> {
  const locked = await lockPair(transaction, pair);
  if (locked === null) return { outcome: 'no-such-talent' };
  if (locked === 'unread') return { outcome: 'not-possible', message: UNREAD };
  const { talent, other } = locked;
  if (talent.id === other.id) return { outcome: 'not-possible', message: 'name two talents' };
  if (talent.duplicateOf === other.id) return { outcome: 'decided', talent };
  if (talent.duplicateOf !== null || other.duplicateOf !== null) {
    const message =
      'one of them is a duplicate already: separate it first, or name the talent that is matched';
    return { outcome: 'not-possible', message };
  }
  await forgetDecisions(transaction, talent.id, other.id);
  const at = new Date(clock.now());
  await proposeChange(transaction, { earlier: other, talent, at });
  const decision = {
    talentId: talent.id,
    earlierId: other.id,
    because: 'by-user',
    effect: 'linked',
  } as const;
  await writeDecision(transaction, { ...decision, at });
  await transaction.query('update talents set duplicate_of = $2 where duplicate_of = $1', [
    talent.id,
    other.id,
  ]);
  return { outcome: 'decided', talent: await linkTalent(transaction, talent, other.id) };
}

/**
 * Records that two talents are different people. If they are linked, the duplicate is a talent of its own again, with the
 * duplicates that it had when it was merged, and the other one has the profile from before the duplicate's CV came in; its
 * later versions lose their contents, which are of another person. With `keepsProfile` it has its present profile, because a
 * user has already corrected it.
 */
export async function separateTalents(
  transaction: Transaction,
  clock: Clock,
  { keepsProfile, ...pair }: TwoTalents & { readonly keepsProfile: boolean },
): Promise<DecidedPair> {
  const locked = await lockPair(transaction, pair);
  if (locked === null) return { outcome: 'no-such-talent' };
  if (locked === 'unread') return { outcome: 'not-possible', message: UNREAD };
  const { talent, other } = locked;
  if (talent.id === other.id) return { outcome: 'not-possible', message: 'name two talents' };
  const [duplicate, earlier] = talent.duplicateOf === other.id ? [talent, other] : [other, talent];
  const isLinked = duplicate.duplicateOf === earlier.id;
  if (!isLinked && duplicate.duplicateOf !== null && duplicate.duplicateOf === earlier.duplicateOf) {
    const message = 'both are duplicates of a third: separate them from that one';
    return { outcome: 'not-possible', message };
  }
  const through = isLinked ? await mergedThrough(transaction, duplicate.id, earlier.id) : null;
  if (through !== null) {
    const message = `it is linked through ${through}, which was merged: separate that one first`;
    return { outcome: 'not-possible', message };
  }
  const at = new Date(clock.now());
  const change = { changedBy: pair.decidedBy, at, keepsProfile };
  if (isLinked) await takeBack(transaction, duplicate, earlier, change);
  const [because = 'by-user'] = await forgetDecisions(transaction, duplicate.id, earlier.id);
  const decision = {
    talentId: duplicate.id,
    earlierId: earlier.id,
    because,
    effect: 'separated',
    at,
  } as const;
  await writeDecision(transaction, decision);
  if (!isLinked) return { outcome: 'decided', talent };
  await linkTalent(transaction, duplicate, null);
  await giveBackDuplicates(transaction, duplicate.id, earlier.id);
  const [now] = await findTalents(transaction, pair.companyId, [pair.talentId]);
  return { outcome: 'decided', talent: now ?? talent };
}

const LINKS = `effect in ('updated', 'linked')`;

/** The duplicate that this one was linked to before that one was merged; null if it was linked directly. */
async function mergedThrough(
  transaction: Transaction,
  duplicateId: string,
  earlierId: string,
): Promise<string | null> {
  const [row] = await transaction.query<{ id: string }>(
    `select decision.earlier_id as id from talent_decisions as decision
       join talents as between on between.id = decision.earlier_id and between.duplicate_of = $2
     where decision.talent_id = $1 and ${LINKS} order by decision.id desc limit 1`,
    [duplicateId, earlierId],
  );
  return row?.id ?? null;
}

/** Those that were linked to the duplicate, or to one of these, before it was merged are linked to it again. */
async function giveBackDuplicates(
  transaction: Transaction,
  duplicateId: string,
  earlierId: string,
): Promise<void> {
  await transaction.query(
    `with recursive own (id) as (
       select talent_id from talent_decisions where earlier_id = $1 and ${LINKS}
       union select decision.talent_id from own join talent_decisions as decision on decision.earlier_id = own.id and ${LINKS})
     update talents set duplicate_of = $1 where duplicate_of = $2 and id in (select id from own)`,
    [duplicateId, earlierId],
  );
}

/** Goes back to the newest version of `earlier` in which there is nothing of the duplicate. */
async function takeBack(
  transaction: Transaction,
  duplicate: Talent,
  earlier: Talent,
  { changedBy, at, keepsProfile }: { changedBy: string; at: Date; keepsProfile: boolean },
): Promise<void> {
  const history = historyOf(await readVersions(transaction, duplicate.id, earlier.id));
  // An erasure of the duplicate would leave them, and an export of the earlier one would have them.
  await transaction.query('delete from talent_proposals where talent_id = $1 and from_talent_id = $2', [
    earlier.id,
    duplicate.id,
  ]);
  const { foreign } = history;
  if (foreign.length === 0) return;
  await transaction.query(
    `update talent_versions set profile = case when version = any($2) then null else profile end,
       replaced = case when version - 1 = any($2) then null else replaced end
     where talent_id = $1 and (version = any($2::integer[]) or version - 1 = any($2))`,
    [earlier.id, foreign],
  );
  const next = { ...earlier, ...stateAfter(earlier, history, keepsProfile) };
  const from = { talentId: duplicate.id, replaced: null };
  await writeTalent(transaction, next, { what: 'separated', changedBy, at, from });
}

type RestoredFields = Pick<Talent, 'name' | 'email' | 'phone' | 'headline' | 'profile'> & TalentReading;

function stateAfter(
  earlier: Talent,
  { origin, clean }: History,
  keepsProfile: boolean,
): RestoredFields | TalentReading | null {
  if (origin === null) return null;
  /** Evidence points into the text of a CV; what is accepted of another CV has none. */
  const ofCv = { evidence: null, document: null, engine: null };
  if (keepsProfile) return origin === 'cv' ? ofCv : null;
  const profile = clean?.profile ?? {};
  const fields = { profile, ...fieldsOfProfile(profile) };
  if (origin === 'cv') return { ...fields, ...(clean?.reading ?? ofCv) };
  const { document, engine } = earlier;
  return {
    ...fields,
    document,
    engine,
    evidence: remainingEvidence(earlier.evidence, earlier.profile, profile),
  };
}

interface StoredVersion {
  readonly version: number;
  readonly what: string;
  readonly profile: Profile | null;
  readonly replaced: TalentReading | null;
  /** It is the duplicate's CV, has something of it that was accepted, or is its separation. */
  readonly isOfDuplicate: boolean;
}

interface History {
  /** The versions that have contents of the duplicate. */
  readonly foreign: readonly number[];
  /** How they came into the newest version; null if it has none. */
  readonly origin: 'cv' | 'proposal' | null;
  /** The newest of the other versions. */
  readonly clean: { readonly profile: Profile; readonly reading: TalentReading | null } | null;
}

/**
 * Contents of the duplicate come by its CV or by what was accepted of it, stay while that is edited, and end with a whole
 * profile of another CV.
 */
function historyOf(versions: readonly StoredVersion[]): History {
  const foreign: number[] = [];
  let origin: History['origin'] = null;
  let clean: History['clean'] = null;
  for (const [at, { version, what, profile, isOfDuplicate }] of versions.entries()) {
    // Before the CV was read, or removed when another person was separated.
    if (profile === null) continue;
    if (isOfDuplicate)
      origin = what === 'newer-cv' ? 'cv' : what === 'edited' ? (origin ?? 'proposal') : null;
    else if (what === 'created' || what === 'parsed' || what === 'newer-cv') origin = null;
    if (origin !== null) foreign.push(version);
    else clean = { profile, reading: versions[at + 1]?.replaced ?? null };
  }
  return { foreign, origin, clean };
}

/** Oldest first. Those from before `from_talent_id` was recorded are recognised by their profile and time. */
async function readVersions(
  transaction: Transaction,
  duplicateId: string,
  earlierId: string,
): Promise<readonly StoredVersion[]> {
  return await transaction.query<StoredVersion>(
    `select version, what, profile, replaced, case
         when from_talent_id is not null then from_talent_id = $2
         when what = 'newer-cv' then exists (
           select 1 from talent_versions as own where own.talent_id = $2 and own.profile = given.profile)
         when what = 'edited' then exists (
           select 1 from talent_proposals as proposal where proposal.talent_id = $1 and from_talent_id = $2
             and decision = 'accepted' and decided_at = changed_at and decided_by = changed_by)
         else false end as "isOfDuplicate"
     from talent_versions as given where talent_id = $1 order by version`,
    [earlierId, duplicateId],
  );
}

/** Removes what was decided about the two. Returns why they were linked, newest first. */
async function forgetDecisions(
  transaction: Transaction,
  one: string,
  other: string,
): Promise<readonly ('same-email' | 'same-name-and-phone' | 'by-user')[]> {
  const rows = await transaction.query<{
    because: 'same-email' | 'same-name-and-phone' | 'by-user';
    id: bigint;
  }>(
    `delete from talent_decisions where because <> 'same-file'
       and ((talent_id = $1 and earlier_id = $2) or (talent_id = $2 and earlier_id = $1)) returning id, because`,
    [one, other],
  );
  return rows.toSorted((a, b) => Number(b.id - a.id)).map(({ because }) => because);
}

/**
 * Both, locked with their duplicates, in the order of an erasure. The lock of recognition is taken first; a CV that is just
 * being read holds its own row and waits for that lock, but is not READY yet and so is not waited for.
 */
async function lockPair(
  transaction: Transaction,
  { companyId, talentId, otherId }: TwoTalents,
): Promise<{ readonly talent: Talent; readonly other: Talent } | 'unread' | null> {
  await lockRecognition(transaction, companyId);
  const found = await findTalents(transaction, companyId, [talentId, otherId]);
  if (found.includes(null)) return null;
  if (found.some((one) => one?.status !== 'READY')) return 'unread';
  const rows = await transaction.query<Talent>(
    `select ${TALENT_COLUMNS} from talents
     where company_id = $1 and (id in ($2, $3) or duplicate_of in ($2, $3)) order by id for update`,
    [companyId, talentId, otherId],
  );
  const talent = rows.find(({ id }) => id === talentId);
  const other = rows.find(({ id }) => id === otherId);
  return talent === undefined || other === undefined ? null : { talent, other };
}
