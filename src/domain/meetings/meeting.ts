import type { Statements, Transaction } from '../../ports/database.ts';
import type { QueueDefinition } from '../../ports/job-queue.ts';
import type { RoomUse } from './fold-room.ts';

export interface Meeting {
  readonly id: string;
  readonly room: string;
  /** Null if it belongs to no company, for example in an unannounced room. */
  readonly companyId: string | null;
  readonly origin: 'announced' | 'room';
  readonly startsAt: Date | null;
  readonly plannedMinutes: number | null;
  readonly jobId: string | null;
  readonly talentId: string | null;
  readonly createdBy: string | null;
  readonly announcedAt: Date | null;
  readonly sessions: readonly StoredRoomUse[];
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly briefing: Readonly<Record<string, unknown>> | null;
  readonly insight: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A use of the room, as stored. */
export interface StoredRoomUse {
  readonly startedAt: string | null;
  readonly startKnown: boolean;
  readonly endedAt: string | null;
  readonly endKnown: boolean;
}

export const MEETING_COLUMNS = `id, room, company_id as "companyId", origin, starts_at as "startsAt",
  planned_minutes as "plannedMinutes", job_id as "jobId", talent_id as "talentId", created_by as "createdBy",
  announced_at as "announcedAt", sessions, started_at as "startedAt", ended_at as "endedAt", briefing, insight,
  created_at as "createdAt", updated_at as "updatedAt"`;

export function storedRoomUse({ startedAtMs, isStartKnown, endedAtMs, isEndKnown }: RoomUse): StoredRoomUse {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    startedAt: iso(startedAtMs),
    startKnown: isStartKnown,
    endedAt: iso(endedAtMs),
    endKnown: isEndKnown,
  };
}

/** From the first start to the last end; the end is null while the last use is ongoing. */
export function spanOf(uses: readonly StoredRoomUse[]): {
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
} {
  const date = (text: string | null | undefined) => (text == null ? null : new Date(text));
  // If only the end of the first use was reported, that end is used as the start.
  const [first] = uses;
  const last = uses.at(-1);
  return { startedAt: date(first?.startedAt ?? first?.endedAt), endedAt: date(last?.endedAt) };
}

interface MeetingListArgs {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after: string | null;
}

/** Newest first. Null lists the meetings of unannounced rooms. */
export async function listMeetings(
  statements: Statements,
  companyId: string | null,
  { limit, after }: MeetingListArgs,
): Promise<readonly Meeting[]> {
  return await statements.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings
     where ${companyId === null ? 'company_id is null and $1::uuid is null' : 'company_id = $1::uuid'}
       and ($2::uuid is null or id < $2::uuid)
     order by id desc limit $3`,
    [companyId, after, limit],
  );
}

export async function findMeeting(statements: Statements, id: string): Promise<Meeting | null> {
  const [meeting] = await statements.query<Meeting>(`select ${MEETING_COLUMNS} from meetings where id = $1`, [
    id,
  ]);
  return meeting ?? null;
}

/** The meetings of these talents with what was reported and written about them, as JSON, oldest first. */
export async function exportMeetings(
  statements: Statements,
  companyId: string,
  talentIds: readonly string[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const meetings = await statements.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where company_id = $1 and talent_id = any($2::uuid[]) order by id`,
    [companyId, talentIds],
  );
  const ids = meetings.map(({ id }) => id);
  const texts = await statements.query<{ meetingId: string }>(
    `select meeting_id as "meetingId", kind, version, text, summary, posted_at as "postedAt"
     from meeting_transcripts where meeting_id = any($1::uuid[])`,
    [ids],
  );
  const events = await statements.query<{ meetingId: string }>(
    `select meeting_id as "meetingId", kind, is_breakout as "isBreakout", happened_at as "happenedAt",
       began_at as "beganAt", occupants, received_at as "receivedAt", time_flags as "timeFlags", sent_at as "sentAt"
     from room_events where meeting_id = any($1::uuid[]) order by happened_at, id`,
    [ids],
  );
  return meetings.map((meeting) => ({
    ...meeting,
    transcript: texts.find(({ meetingId }) => meetingId === meeting.id) ?? null,
    events: events.filter(({ meetingId }) => meetingId === meeting.id),
  }));
}

export async function lockMeeting(transaction: Transaction, id: string): Promise<Meeting | null> {
  const [meeting] = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where id = $1 for update`,
    [id],
  );
  return meeting ?? null;
}

/**
 * Meetings in which something has changed; a job contains only the id. A run may include one model call of 15 minutes.
 * If the database is unavailable, it is retried for 20 to 30 minutes.
 */
export const MEETING_QUEUE: QueueDefinition = {
  name: 'meeting',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 1_000,
  heartbeatSeconds: 30,
};
