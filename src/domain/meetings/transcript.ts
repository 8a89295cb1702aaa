import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import { lockMeeting, MEETING_QUEUE, type Meeting } from './meeting.ts';

/** The spoken words, or notes about them. */
export type MeetingTextKind = 'transcript' | 'notes';

/** What one person said without interruption. */
export interface Utterance {
  readonly speaker: string | null;
  readonly text: string;
}

export const LONGEST_TRANSCRIPT = 500_000;
/** Also limits the lines of notes: more would block the process for seconds. */
export const MOST_UTTERANCES = 20_000;

const TIMES = /^(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->/;
const CUE_NUMBER = /^\d{1,6}$/;
const TIME_BEFORE = /^[[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*/;
const VOICE = /^<v(?:\.[^\s>]+)?\s+([^>]{1,100})>\s*/i;
const SPEAKER = /^(\p{L}[\p{L}\p{M}\p{N} .'’()-]{0,60}):\s+/u;

/** Blocks of WebVTT that are not spoken, up to the next empty line. In plain text such a line may be a person's words. */
const UNSPOKEN = /^(?:NOTE(?:\s|$)|(?:STYLE|REGION)$)/;

/** Reads plain text with or without a `Name:` before each utterance, WebVTT and SRT, line by line. */
export function utterancesOf(transcript: string): readonly Utterance[] {
  const utterances: { speaker: string | null; text: string }[] = [];
  const lines = transcript.split(/\r?\n/).map((raw) => raw.replace(/^\ufeff/, '').trim());
  const isVtt = /^WEBVTT(?:\s|$)/.test(lines[0] ?? '');
  // The header of WebVTT ends at the first empty line too, or where someone left that out.
  let isUnspoken = isVtt;
  for (const [at, line] of lines.entries()) {
    const isTimes = TIMES.test(line);
    const beginsBlock = (lines[at - 1] ?? '') === '';
    isUnspoken = isVtt && line !== '' && !isTimes && (isUnspoken || (beginsBlock && UNSPOKEN.test(line)));
    // "7c4b8e6e-9f5f/23-0", as meeting programs write above the times.
    const isCueName = beginsBlock && TIMES.test(lines[at + 1] ?? '');
    if (line === '' || isUnspoken || isCueName || isTimes || CUE_NUMBER.test(line)) continue;
    const said = speakerOf(line.replace(TIME_BEFORE, ''));
    const last = utterances.at(-1);
    if (said.text === '') continue;
    if (said.speaker === null && last !== undefined) last.text += ` ${said.text}`;
    else if (said.speaker !== null && last?.speaker === said.speaker) last.text += ` ${said.text}`;
    else if (utterances.length < MOST_UTTERANCES) utterances.push(said);
  }
  return utterances;
}

/** The sentences of an utterance, with their punctuation. */
export function sentencesOf({ text }: Utterance): readonly string[] {
  const sentences: string[] = [];
  for (const { segment } of SENTENCES.segment(text)) {
    const sentence = segment.replace(/\s+/g, ' ').trim();
    if (sentence !== '') sentences.push(cut(sentence));
  }
  return sentences;
}

interface PostedTranscript {
  readonly meetingId: string;
  /** The company that must own the meeting; undefined for internal callers. */
  readonly companyId?: string;
  readonly kind: MeetingTextKind;
  readonly text: string;
}

type TranscriptOutcome =
  | { readonly outcome: 'posted'; readonly meeting: Meeting }
  | { readonly outcome: 'unknown' }
  /** Its room is unannounced, so it belongs to no company. */
  | { readonly outcome: 'unannounced' }
  | { readonly outcome: 'invalid'; readonly message: string };

/** Replaces an earlier one. Posting the same text again changes nothing and costs nothing. */
export async function postTranscript(
  transaction: Transaction,
  { jobQueue, clock }: { readonly jobQueue: Pick<JobQueue, 'enqueue'>; readonly clock: Clock },
  { meetingId, companyId, kind, text }: PostedTranscript,
): Promise<TranscriptOutcome> {
  const meeting = await lockMeeting(transaction, meetingId);
  if (meeting === null || (companyId !== undefined && meeting.companyId !== companyId)) {
    return { outcome: 'unknown' };
  }
  if (meeting.companyId === null) return { outcome: 'unannounced' };
  const message = problemOf(text, kind);
  if (message !== null) return { outcome: 'invalid', message };
  const changed = await transaction.query(
    `insert into meeting_transcripts as kept (meeting_id, kind, text, posted_at) values ($1, $2, $3, $4)
     on conflict (meeting_id) do update
       set kind = excluded.kind, text = excluded.text, posted_at = excluded.posted_at, version = kept.version + 1,
         summary = null
       where kept.text <> excluded.text or kept.kind <> excluded.kind
     returning meeting_id`,
    [meetingId, kind, text, new Date(clock.now())],
  );
  const waiting = { within: transaction, owner: meeting.companyId };
  if (changed.length > 0) await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId }, waiting);
  return { outcome: 'posted', meeting };
}

/** Deletes the posted text and its summary. The rest of the insight is derived again. */
export async function deleteTranscript(
  transaction: Transaction,
  { jobQueue, clock }: { readonly jobQueue: Pick<JobQueue, 'enqueue'>; readonly clock: Clock },
  { meetingId, companyId }: { readonly meetingId: string; readonly companyId: string },
): Promise<'deleted' | 'nothing' | 'unknown'> {
  const meeting = await lockMeeting(transaction, meetingId);
  if (meeting === null || meeting.companyId !== companyId) return 'unknown';
  const gone = await transaction.query(
    'delete from meeting_transcripts where meeting_id = $1 returning meeting_id',
    [meetingId],
  );
  await transaction.query(
    `update meetings set insight = jsonb_set(insight, '{summary}', 'null'), updated_at = $2
     where id = $1 and insight -> 'summary' is distinct from 'null'::jsonb and insight is not null`,
    [meetingId, new Date(clock.now())],
  );
  if (gone.length === 0) return 'nothing';
  await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId }, { within: transaction, owner: companyId });
  return 'deleted';
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

const LONGEST_SENTENCE = 600;

/** Does not split a surrogate pair, which the database would reject. */
function cut(sentence: string): string {
  const short = sentence.slice(0, LONGEST_SENTENCE);
  return short.isWellFormed() ? short : short.slice(0, -1);
}

function speakerOf(line: string): { speaker: string | null; text: string } {
  const voice = VOICE.exec(line);
  const match = voice ?? SPEAKER.exec(line);
  const rest = match === null ? line : line.slice(match[0].length);
  const text = rest.replace(/<\/?[a-z][^>]{0,100}>/gi, '').trim();
  return { speaker: match?.[1]?.trim() ?? null, text };
}

function problemOf(text: string, kind: MeetingTextKind): string | null {
  if (text.length > LONGEST_TRANSCRIPT) return `at most ${LONGEST_TRANSCRIPT} characters are taken`;
  if (!text.isWellFormed() || text.includes('\u0000')) return 'it holds characters that are no text';
  if (kind === 'notes') return text.trim() === '' ? 'it is empty' : null;
  return utterancesOf(text).length === 0 ? 'it contains no speech' : null;
}
