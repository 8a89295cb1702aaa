import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { JobHandler, JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { findCompany } from '../accounts/company.ts';
import { findCurrentMembers } from '../accounts/members.ts';
import { findJobs } from '../jobs/job.ts';
import { listMatches } from '../matching/list-matches.ts';
import { findTalents } from '../talents/talent.ts';
import { insightOf, type MeetingInsight } from './insight.ts';
import { lockMeeting, MEETING_QUEUE, type Meeting } from './meeting.ts';
import { readMeetingEvents } from './room-events.ts';
import type { MeetingTextKind } from './transcript.ts';
import {
  questionOf,
  type SummaryQuestion,
  summariseNotes,
  summariseTranscript,
  summaryFrom,
  type TranscriptSummary,
} from './transcript-summary.ts';

/**
 * Summarizes a transcript with a model, as a call of the company that owns the meeting. Rejects if a retry may succeed.
 */
export interface MeetingModel {
  ask(question: SummaryQuestion, call: MeetingModelCall): Promise<MeetingModelAnswer>;
}

interface MeetingModelCall {
  readonly companyId: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

interface MeetingModelAnswer {
  /** Null if no model answered; then the built-in engine writes the summary. */
  readonly answer: string | null;
  /** Called in the transaction that stores the summary. */
  charge(transaction: Transaction, isUsable: boolean): Promise<void>;
  /** Called after that transaction, whether it committed or not. */
  release(): Promise<void>;
}

export interface MeetingHandlerParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly model: MeetingModel;
  readonly remind: RemindScorecard;
}

interface Transcript {
  readonly version: number;
  readonly kind: MeetingTextKind;
  readonly text: string;
  readonly summary: TranscriptSummary | null;
}

/** People leave and rejoin, and events arrive late, so reminders wait this long. */
const REMIND_AFTER_MS = 10 * 60_000;
/** No one is reminded of a meeting that was reported later than this. */
const REMIND_WITHIN_MS = 7 * 86_400_000;

/**
 * Derives everything from a meeting as it is stored now. It is safe to run repeatedly: a model's summary is stored and
 * charged once per transcript, a reminder is sent once per person, and the rest gives the same result.
 */
export function createMeetingHandler(parts: MeetingHandlerParts): JobHandler {
  const { database, clock, log, jobQueue } = parts;
  return async ({ id: requestId, data, signal }) => {
    const meetingId = String(data.meetingId);
    const [waiting] = await database.query<Transcript & { companyId: string }>(
      `select transcript.version, transcript.kind, transcript.text, meeting.company_id as "companyId"
       from meeting_transcripts as transcript join meetings as meeting on meeting.id = transcript.meeting_id
       where meeting.id = $1 and meeting.company_id is not null and transcript.summary is null`,
      [meetingId],
    );
    const made =
      waiting === undefined ? null : await summarise(parts, waiting, { ...waiting, requestId, signal });
    try {
      const insight = await database.transaction(async (transaction) => {
        const meeting = await lockMeeting(transaction, meetingId);
        if (meeting === null) return null;
        if (made !== null) await storeSummary(transaction, meetingId, made);
        const written = await writeInsight(transaction, parts, meeting);
        if (!isInterview(meeting) || meeting.endedAt === null || written.isNoShow === true) return written;
        if (meeting.endedAt.getTime() < clock.now() - REMIND_WITHIN_MS) return written;
        const remindAtMs = meeting.endedAt.getTime() + REMIND_AFTER_MS;
        if (remindAtMs <= clock.now()) await remindOfScorecard(transaction, parts.remind, meeting, written);
        else
          await jobQueue.enqueue(
            MEETING_QUEUE.name,
            { meetingId },
            {
              within: transaction,
              ...(meeting.companyId === null ? {} : { owner: meeting.companyId }),
              startAfter: new Date(remindAtMs),
              dedupeKey: `remind ${meetingId} ${remindAtMs}`,
            },
          );
        return written;
      });
      if (insight !== null) log.info('a meeting was checked', { meetingId, status: insight.status });
    } finally {
      await made?.modelAnswer.release();
    }
  };
}

interface MadeSummary {
  readonly version: number;
  readonly text: string;
  readonly summary: TranscriptSummary;
  readonly modelAnswer: MeetingModelAnswer;
}

async function summarise(
  { model }: MeetingHandlerParts,
  { version, kind, text }: Pick<Transcript, 'version' | 'kind' | 'text'>,
  call: MeetingModelCall,
): Promise<MadeSummary> {
  const modelAnswer = await model.ask(questionOf(text), call);
  const answered = modelAnswer.answer === null ? null : summaryFrom(modelAnswer.answer, text);
  const summariseOffline = kind === 'notes' ? summariseNotes : summariseTranscript;
  return { version, text, summary: answered ?? summariseOffline(text), modelAnswer };
}

/**
 * Only the first summary of a version is stored and charged. Version numbers restart after a deletion, so the text is
 * compared too: the summary of a deleted text must not be stored for the next one.
 */
async function storeSummary(
  transaction: Transaction,
  meetingId: string,
  { version, text, summary, modelAnswer }: MadeSummary,
): Promise<void> {
  const written = await transaction.query(
    `update meeting_transcripts set summary = $3
     where meeting_id = $1 and version = $2 and text = $4 and summary is null
     returning meeting_id`,
    [meetingId, version, { ...summary }, text],
  );
  if (written.length === 1) await modelAnswer.charge(transaction, summary.engine === 'model');
}

async function writeInsight(
  transaction: Transaction,
  { clock }: MeetingHandlerParts,
  meeting: Meeting,
): Promise<MeetingInsight> {
  const { id } = meeting;
  const events = await readMeetingEvents(transaction, id);
  const [transcript] = await transaction.query<Pick<Transcript, 'summary'>>(
    'select summary from meeting_transcripts where meeting_id = $1',
    [id],
  );
  const insight = insightOf({ meeting, events, summary: transcript?.summary ?? null });
  const briefing = meeting.briefing ?? (await briefingFor(transaction, meeting));
  await transaction.query(
    `update meetings set insight = $2, briefing = $3, updated_at = $4
     where id = $1 and (insight is distinct from $2::jsonb or briefing is distinct from $3::jsonb)`,
    [id, { ...insight }, briefing, new Date(clock.now())],
  );
  return insight;
}

function isInterview({ jobId, talentId, companyId }: Meeting): boolean {
  return jobId !== null && talentId !== null && companyId !== null;
}

/**
 * For the interviewers: where talent and job fit and what to ask about, from their match once the meeting has started.
 * Null if there is no match yet; the next run looks again.
 */
async function briefingFor(
  statements: Statements,
  { jobId, talentId, companyId, startedAt }: Meeting,
): Promise<Readonly<Record<string, unknown>> | null> {
  if (jobId === null || talentId === null || companyId === null || startedAt === null) return null;
  const [talent] = await findTalents(statements, companyId, [talentId]);
  const matchedId = talent?.duplicateOf ?? talentId;
  const [match] = await listMatches(statements, companyId, {
    ...{ jobId, talentId: matchedId, limit: 1, after: null },
  });
  if (match === undefined) return null;
  return {
    score: match.score,
    fits: match.reasons,
    askAbout: match.missing,
    matchedAt: match.updatedAt.toISOString(),
  };
}

/** A mail to an interviewer. A dedupe key is sent once. */
export interface ScorecardMail {
  readonly to: string;
  readonly companyId: string;
  readonly dedupeKey: string;
  readonly data: {
    readonly companyName: string;
    readonly meetingId: string;
    readonly talentName: string;
    readonly jobTitle: string;
    readonly endedAt: Date;
  };
}

type RemindScorecard = (mail: ScorecardMail, within: Transaction) => Promise<void>;

const MOST_PEOPLE = 50;

/**
 * Mails the members of the company who attended, and the one who announced the meeting, once each. Where notes or a
 * transcript are there already, nothing is asked for.
 */
async function remindOfScorecard(
  transaction: Transaction,
  remind: RemindScorecard,
  { id: meetingId, companyId, jobId, talentId, createdBy, endedAt }: Meeting,
  { attendees }: MeetingInsight,
): Promise<void> {
  if (companyId === null || endedAt === null || jobId === null || talentId === null) return;
  const company = await findCompany(transaction, companyId);
  if (await hasText(transaction, meetingId)) return;
  const [job] = await findJobs(transaction, companyId, [jobId]);
  const [talent] = await findTalents(transaction, companyId, [talentId]);
  if (company === null || job == null || talent == null) return;
  const ids = createdBy === null ? [] : [createdBy];
  const emails = attendees.flatMap(({ email }) => (email === null ? [] : [email]));
  const recipients = await findCurrentMembers(transaction, companyId, { ids, emails });
  const talentName = talent.name ?? 'the candidate';
  for (const { email } of recipients.slice(0, MOST_PEOPLE)) {
    await remind(
      {
        to: email,
        companyId,
        dedupeKey: `scorecard:${meetingId}:${email}`,
        data: { companyName: company.name, meetingId, talentName, jobTitle: job.title, endedAt },
      },
      transaction,
    );
  }
}

async function hasText(statements: Statements, meetingId: string): Promise<boolean> {
  const rows = await statements.query('select 1 from meeting_transcripts where meeting_id = $1', [meetingId]);
  return rows.length > 0;
}
