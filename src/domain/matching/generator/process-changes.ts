import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { meanVector, type SkillVocabulary, type StoredVector, type TextsToEmbed } from '../facts/facts.ts';
import { jobTexts, readJob } from '../facts/read-job.ts';
import { readTalent, talentTexts } from '../facts/read-talent.ts';
import { type CompanyIndexes, candidateJobs, candidateTalents } from './company-index.ts';
import type { PlatformModelCalls } from './model-calls.ts';
import {
  type FoundSubject,
  findJobSubjects,
  findTalentSubjects,
  type PreparedSubject,
  preparedVersions,
  retireSubjects,
  storeSubject,
} from './subjects.ts';
import {
  type Claim,
  type ClaimedChange,
  claimChanges,
  enqueuePairs,
  finishChanges,
  lastServed,
  putBackChange,
} from './work-queue.ts';

export interface WorkParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly indexes: CompanyIndexes;
  readonly vocabulary: SkillVocabulary;
  readonly modelCalls: PlatformModelCalls;
  /** Called when a batch starts, that is, when something was claimed. */
  readonly onClaimed?: (() => void) | undefined;
}

interface ChangesWorked {
  readonly claimed: number;
  readonly failed: number;
  readonly lastServed: string | undefined;
}

type ReadSubject = Omit<PreparedSubject, 'vector'> & {
  readonly texts: TextsToEmbed;
  readonly change: ClaimedChange;
};

/**
 * Processes one batch of changed talents and jobs: stores facts and vectors of the new versions, then compares each
 * with the rest of the company and enqueues its pairs.
 *
 * Facts are committed before the index is read. If a talent and a job arrive at the same time in two processes, at
 * least one then sees the other; in the reverse order neither might.
 */
export async function workOffChanges(
  parts: WorkParts,
  claim: Claim,
  signal: AbortSignal,
): Promise<ChangesWorked> {
  const { database, clock } = parts;
  const changes = await claimChanges(database, claim);
  if (changes.length === 0) return { claimed: 0, failed: 0, lastServed: claim.after };
  parts.onClaimed?.();
  const found = await findSubjects(parts, changes);
  const isGone = ({ subjectId }: ClaimedChange) => found.get(subjectId)?.isLive !== true;
  const gone = changes.filter(isGone).map(({ subjectId }) => subjectId);
  await database.transaction((transaction) => retireSubjects(transaction, gone, new Date(clock.now())));

  const live = changes.filter((change) => !isGone(change));
  const known = await preparedVersions(
    database,
    live.map(({ subjectId }) => subjectId),
    parts.modelCalls.embedModel(),
  );
  const isKnown = ({ subjectId }: ClaimedChange) => known.get(subjectId) === found.get(subjectId)?.version;
  const { read, failures } = readAll(
    parts,
    live.filter((change) => !isKnown(change)),
    found,
  );
  const unkept = await embedAll(parts, read, signal);
  for (const [subject, vector] of unkept) await store(parts, database, subject, vector);
  const done = changes.filter(isGone);
  const unread = new Set(failures.map(({ change }) => change));
  for (const change of live.filter((one) => !unread.has(one))) {
    const reason = await putInLine(parts, change);
    if (reason === null) done.push(change);
    else failures.push({ change, reason });
  }
  await finishChanges(database, claim.id, done);
  for (const { change, reason } of failures) {
    await putBackChange(database, claim.id, change, { nowMs: clock.now(), reason });
  }
  return {
    claimed: changes.length,
    failed: failures.length,
    lastServed: lastServed(changes, claim.after),
  };
}

interface Failure {
  readonly change: ClaimedChange;
  readonly reason: string;
}

async function findSubjects(
  { database }: WorkParts,
  changes: readonly ClaimedChange[],
): Promise<ReadonlyMap<string, FoundSubject>> {
  const ids = (kind: string) => changes.filter((one) => one.kind === kind).map(({ subjectId }) => subjectId);
  const talents = await findTalentSubjects(database, ids('talent'));
  const jobs = await findJobSubjects(database, ids('job'));
  return new Map([...talents, ...jobs].map((subject) => [subject.id, subject]));
}

/** A subject that cannot be read does not block the others. */
function readAll(
  { vocabulary, log }: WorkParts,
  changes: readonly ClaimedChange[],
  found: ReadonlyMap<string, FoundSubject>,
): { readonly read: readonly ReadSubject[]; readonly failures: Failure[] } {
  const read: ReadSubject[] = [];
  const failures: Failure[] = [];
  for (const change of changes) {
    const subject = found.get(change.subjectId);
    if (subject === undefined) continue;
    const { id, version } = subject;
    const own = { id, version, companyId: change.companyId, change };
    try {
      if (subject.kind === 'talent') {
        const facts = readTalent(subject.stored, vocabulary);
        read.push({ ...own, kind: 'talent', facts, texts: talentTexts(facts, subject.stored) });
      } else {
        const facts = readJob(subject.stored, vocabulary);
        read.push({ ...own, kind: 'job', facts, texts: jobTexts(facts, subject.stored) });
      }
    } catch (error) {
      log.error('a talent or job cannot be read for matching', { kind: change.kind, subjectId: id, error });
      failures.push({
        change,
        reason: `it cannot be read: ${error instanceof Error ? error.message : error}`,
      });
    }
  }
  return { read, failures };
}

/**
 * Makes one call per company of the batch, whose vectors are stored together with its charge. Without an answer there
 * is no vector, and the sweep retries later. Returns the subjects that are not stored yet.
 */
async function embedAll(
  parts: WorkParts,
  read: readonly ReadSubject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<ReadSubject, StoredVector | null>> {
  const unkept = new Map<ReadSubject, StoredVector | null>(read.map((subject) => [subject, null]));
  const worded = read.filter(({ texts }) => texts.length > 0);
  for (const [companyId, subjects] of Map.groupBy(worded, (one) => one.companyId)) {
    const texts = subjects.flatMap((subject) => subject.texts);
    let isKept = false;
    const answer = await parts.modelCalls.embed({
      ...{ companyId, texts, signal },
      async keep(transaction, { vectors, model }) {
        for (const [subject, vector] of vectorsOf(subjects, vectors, model)) {
          await store(parts, transaction, subject, vector);
        }
        isKept = true;
      },
    });
    if (answer.outcome !== 'embedded' || answer.vectors.length !== texts.length) continue;
    for (const [subject, vector] of vectorsOf(subjects, answer.vectors, answer.model)) {
      if (isKept) unkept.delete(subject);
      else unkept.set(subject, vector);
    }
  }
  return unkept;
}

/** The vectors of a call are in the order of its texts; a subject has one or two. */
function vectorsOf(
  subjects: readonly ReadSubject[],
  vectors: readonly (readonly number[])[],
  model: string,
): readonly (readonly [ReadSubject, StoredVector | null])[] {
  let from = 0;
  return subjects.map((subject) => {
    const own = vectors.slice(from, from + subject.texts.length);
    from += subject.texts.length;
    return [subject, meanVector(model, own)] as const;
  });
}

async function store(
  { clock }: WorkParts,
  statements: Statements,
  { texts: _texts, change: _change, ...subject }: ReadSubject,
  vector: StoredVector | null,
): Promise<void> {
  await storeSubject(statements, { ...subject, vector }, new Date(clock.now()));
}

/** Null on success, otherwise the reason. */
async function putInLine(
  { database, indexes, log }: WorkParts,
  change: ClaimedChange,
): Promise<string | null> {
  const { subjectId: id, kind, companyId } = change;
  try {
    const index = await indexes.open(companyId);
    if (kind === 'talent') {
      const talent = index.talents.get(id);
      if (talent !== undefined) await enqueuePairs(database, { id, kind }, candidateJobs(talent, index));
    } else {
      const job = index.jobs.get(id);
      if (job !== undefined) await enqueuePairs(database, { id, kind }, candidateTalents(job, index));
    }
    return null;
  } catch (error) {
    log.error('the pairs of a talent or job cannot be put in line', { kind, subjectId: id, error });
    return `its pairs cannot be put in line: ${error instanceof Error ? error.message : error}`;
  }
}
