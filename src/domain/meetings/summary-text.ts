import type { Statements, Transaction } from '../../ports/database.ts';
import { findCompany } from '../accounts/company.ts';
import { emailKey } from '../accounts/email.ts';
import { findCurrentMembers } from '../accounts/members.ts';
import { findJobs } from '../jobs/job.ts';
import { findTalents } from '../talents/talent.ts';
import { findMeeting, type Meeting } from './meeting.ts';
import type { TranscriptSummary } from './transcript-summary.ts';

/** A meeting and the summary of its transcript or notes, for export. */
interface MeetingSummary {
  readonly meeting: Meeting;
  readonly summary: TranscriptSummary;
  readonly jobTitle: string | null;
  readonly talentName: string | null;
}

type FoundSummary =
  | { readonly outcome: 'found'; readonly found: MeetingSummary }
  | { readonly outcome: 'unknown' }
  /** There is no transcript and no notes, or the summary is not finished. */
  | { readonly outcome: 'none' };

export async function findSummary(
  statements: Statements,
  { meetingId, companyId }: { readonly meetingId: string; readonly companyId: string },
): Promise<FoundSummary> {
  const meeting = await findMeeting(statements, meetingId);
  if (meeting === null || meeting.companyId !== companyId) return { outcome: 'unknown' };
  const [row] = await statements.query<{ summary: TranscriptSummary | null }>(
    'select summary from meeting_transcripts where meeting_id = $1',
    [meetingId],
  );
  const summary = row?.summary ?? null;
  if (summary === null) return { outcome: 'none' };
  const [job] = meeting.jobId === null ? [] : await findJobs(statements, companyId, [meeting.jobId]);
  const [talent] =
    meeting.talentId === null ? [] : await findTalents(statements, companyId, [meeting.talentId]);
  const found = { meeting, summary, jobTitle: job?.title ?? null, talentName: talent?.name ?? null };
  return { outcome: 'found', found };
}

/** The non-empty parts of a summary, in reading order. */
function summarySections({ summary }: MeetingSummary): readonly (readonly [string, readonly string[]])[] {
  const said = (things: TranscriptSummary['decisions']) =>
    things.map(({ speaker, text }) => (speaker === null ? text : `${speaker}: ${text}`));
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['Summary', summary.summary],
    ['Decisions', said(summary.decisions)],
    ['Open questions', said(summary.questions)],
    ['Next steps', said(summary.actionItems)],
  ];
  return sections.filter(([, lines]) => lines.length > 0);
}

type SummaryFormat = 'markdown' | 'text';

export function summaryText(found: MeetingSummary, format: SummaryFormat): string {
  const isMarkdown = format === 'markdown';
  const plain = (text: string) => (isMarkdown ? escaped(text) : text);
  const title = `Meeting in room ${found.meeting.room}`;
  const facts = factsOf(found).map(([name, value]) => `${isMarkdown ? '- ' : ''}${name}: ${plain(value)}`);
  const parts = summarySections(found).map(([name, lines]) =>
    [heading(name, 2, isMarkdown), ...lines.map((line) => `- ${plain(line)}`)].join('\n'),
  );
  return `${[[heading(plain(title), 1, isMarkdown), ...facts].join('\n'), ...parts].join('\n\n')}\n`;
}

function factsOf({
  meeting,
  jobTitle,
  talentName,
  summary,
}: MeetingSummary): readonly (readonly [string, string])[] {
  const time = meeting.startedAt ?? meeting.startsAt;
  const facts: readonly (readonly [string, string | null])[] = [
    ['Time', time === null ? null : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`],
    ['Job', jobTitle],
    ['Candidate', talentName],
    ['Written by', summary.engine === 'model' ? 'a model; check it' : 'sentences of the text, picked out'],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function heading(text: string, level: 1 | 2, isMarkdown: boolean): string {
  if (isMarkdown) return `${'#'.repeat(level)} ${text}${level === 1 ? '\n' : ''}`;
  return level === 1 ? `${text}\n${'='.repeat(text.length)}` : text;
}

/** Escapes Markdown, so that spoken text creates no heading, link or markup in the page that shows it. */
function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|!~]/g, '\\$&');
}

/** A mail with the summary to a member of the company. */
export interface SummaryMail {
  readonly kind: 'meeting-summary';
  readonly to: string;
  readonly companyId: string;
  readonly dedupeKey: string;
  readonly data: {
    readonly companyName: string;
    readonly meetingId: string;
    readonly room: string;
    readonly jobTitle: string | null;
    readonly talentName: string | null;
    readonly sentBy: string;
    readonly sections: { name: string; lines: string[] }[];
  };
}

export interface SummaryOutbox {
  send(mail: SummaryMail, within: Transaction): Promise<{ readonly outcome: string }>;
}

interface SummaryMailParams {
  readonly meetingId: string;
  readonly companyId: string;
  readonly emails: readonly string[];
  /** The address of the sender. */
  readonly sentBy: string;
  /** Identifies the request: a repeated one sends nothing again. */
  readonly key: string;
}

type MailedSummary =
  | { readonly outcome: 'mailed'; readonly count: number }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'none' }
  /** Summaries are sent to members only. */
  | { readonly outcome: 'not-a-member'; readonly email: string };

/** Sends to members of the company only: what was said in an interview is personal data, and this is no mail relay. */
export async function mailSummary(
  transaction: Transaction,
  outbox: SummaryOutbox,
  { meetingId, companyId, emails, sentBy, key }: SummaryMailParams,
): Promise<MailedSummary> {
  const result = await findSummary(transaction, { meetingId, companyId });
  if (result.outcome !== 'found') return result;
  const company = await findCompany(transaction, companyId);
  if (company === null) return { outcome: 'unknown' };
  const recipients = await findCurrentMembers(transaction, companyId, { emails });
  const known = new Set(recipients.map(({ email }) => emailKey(email)));
  const stranger = emails.find((email) => !known.has(emailKey(email)));
  if (stranger !== undefined) return { outcome: 'not-a-member', email: stranger };
  const { meeting, jobTitle, talentName } = result.found;
  const sections = summarySections(result.found).map(([name, lines]) => ({
    name,
    // A mail does not accept lines that are empty after cleaning.
    lines: lines.filter((line) => /[\p{L}\p{N}]/u.test(line)),
  }));
  const data = { companyName: company.name, meetingId, room: meeting.room, jobTitle, talentName, sections };
  let count = 0;
  for (const { email } of recipients) {
    const dedupeKey = `meeting-summary:${key}:${email}`;
    const mail = { kind: 'meeting-summary' as const, to: email, companyId, dedupeKey };
    const sent = await outbox.send({ ...mail, data: { ...data, sentBy } }, transaction);
    if (sent.outcome !== 'invalid') count += 1;
  }
  return { outcome: 'mailed', count };
}
