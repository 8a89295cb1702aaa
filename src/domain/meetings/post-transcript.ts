import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import { MEETING_COLUMNS, type Meeting } from './meeting.ts';
import { MEETING_QUEUE } from './queues.ts';
import { LONGEST_TRANSCRIPT, utterancesOf } from './transcript.ts';

export interface PostedTranscript {
  readonly meetingId: string;
  /** Whose it must be; undefined where the sender is one of ours. */
  readonly companyId?: string;
  readonly text: string;
}

export type TranscriptOutcome =
  | { readonly outcome: 'posted'; readonly meeting: Meeting }
  | { readonly outcome: 'unknown' }
  /** Nobody has announced its room: there is nobody to summarise it for. */
  | { readonly outcome: 'unannounced' }
  | { readonly outcome: 'invalid'; readonly message: string };

/** Takes the place of an earlier one. The same text again changes nothing and costs nothing. */
export async function postTranscript(
  transaction: Transaction,
  { jobQueue, clock }: { readonly jobQueue: Pick<JobQueue, 'enqueue'>; readonly clock: Clock },
  { meetingId, companyId, text }: PostedTranscript,
): Promise<TranscriptOutcome> {
  const [meeting] = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where id = $1 for update`,
    [meetingId],
  );
  if (meeting === undefined || (companyId !== undefined && meeting.companyId !== companyId)) {
    return { outcome: 'unknown' };
  }
  if (meeting.companyId === null) return { outcome: 'unannounced' };
  const message = problemOf(text);
  if (message !== null) return { outcome: 'invalid', message };
  const changed = await transaction.query(
    `insert into meeting_transcripts as kept (meeting_id, text, posted_at) values ($1, $2, $3)
     on conflict (meeting_id) do update
       set text = excluded.text, posted_at = excluded.posted_at, version = kept.version + 1, summary = null
       where kept.text <> excluded.text
     returning meeting_id`,
    [meetingId, text, new Date(clock.now())],
  );
  if (changed.length > 0) await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId }, { within: transaction });
  return { outcome: 'posted', meeting };
}

function problemOf(text: string): string | null {
  if (text.length > LONGEST_TRANSCRIPT) return `at most ${LONGEST_TRANSCRIPT} characters are taken`;
  if (!text.isWellFormed() || text.includes('\u0000')) return 'it holds characters that are no text';
  return utterancesOf(text).length === 0 ? 'nobody says anything in it' : null;
}
