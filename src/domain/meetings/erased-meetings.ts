import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import { changeInChunks } from '../retention/change-in-chunks.ts';
import { EARLIEST_MS, LATEST_MS, LEAVING_MS, ORPHAN_MS, SAME_MS } from './fold-room.ts';
import { MEETING_COLUMNS, type Meeting } from './meeting.ts';
import type { RoomEvent, TimedEvent } from './room-events.ts';

/**
 * The meeting server may report a meeting late or again, with the names of those who were there. Of a meeting that was
 * erased with its talent, the time of its room's use is stored, and events of that time are dropped. The room is stored by the
 * hash of its name as long as it has no other meeting.
 */
interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly isOpen: boolean;
}

interface ErasedMeeting {
  readonly meetingId: string;
  readonly isOpen: boolean;
  readonly erasedAt: Date;
}

/** How long spans are stored after the erasure. */
const KEEP_MS = 400 * 86_400_000;
const CHUNK_ROWS = 500;

/**
 * To be called before the talents are deleted, with their rows locked: their meetings are deleted with them. Returns the ids
 * of these.
 */
export async function recordErasedMeetings(
  transaction: Transaction,
  clock: Clock,
  talentIds: readonly string[],
): Promise<readonly string[]> {
  // The rows of the rooms are locked, so that no event of them is being received.
  await transaction.query(
    `select room from rooms where room in (select room from meetings where talent_id = any($1::uuid[]))
     order by room for update`,
    [talentIds],
  );
  const meetings = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where talent_id = any($1::uuid[]) order by id`,
    [talentIds],
  );
  const nowMs = clock.now();
  for (const meeting of meetings) {
    const span = await beforeNextMeeting(transaction, meeting, talentIds, spanOf(meeting, nowMs));
    if (span.fromMs > span.untilMs) continue;
    await transaction.query(
      `insert into erased_meetings (meeting_id, room, company_id, from_at, until_at, is_open, erased_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [
        ...[meeting.id, meeting.room, meeting.companyId],
        ...[new Date(span.fromMs), new Date(span.untilMs), span.isOpen, new Date(nowMs)],
      ],
    );
  }
  return meetings.map(({ id }) => id);
}

/** The span ends where the next meeting in the room began, or is due: what is reported of that one is stored. */
async function beforeNextMeeting(
  transaction: Transaction,
  { room, startedAt }: Meeting,
  talentIds: readonly string[],
  span: Span,
): Promise<Span> {
  const [next] = await transaction.query<{ at: Date | null }>(
    `select min(at) as at from (
       select coalesce(started_at, ended_at, starts_at, announced_at) as at from meetings
       where room = $1 and (talent_id is null or talent_id <> all($2::uuid[]))) as others
     where at > $3`,
    [room, talentIds, startedAt ?? new Date(span.fromMs)],
  );
  const nextMs = next?.at?.getTime() ?? null;
  if (nextMs === null || nextMs > span.untilMs) return span;
  return { ...span, untilMs: nextMs - 1, isOpen: false };
}

/**
 * To be called after the talents were deleted. People name rooms after whom they meet: the name of a room in which no other
 * meeting is stored is replaced by its hash.
 */
export async function hideRoomsOf(transaction: Transaction, meetingIds: readonly string[]): Promise<void> {
  const rooms = await transaction.query<{ room: string }>(
    'select distinct room from erased_meetings where meeting_id = any($1::uuid[])',
    [meetingIds],
  );
  const names = rooms.map(({ room }) => room);
  await hideRooms(transaction, names);
}

/** Does nothing to rooms in which a meeting is stored. The hash still has the owner, and the spans of erased meetings. */
export async function hideRooms(transaction: Transaction, names: readonly string[]): Promise<void> {
  const unused = `room = any($1::text[]) and not exists (select 1 from meetings where meetings.room = rooms.room)
    and not exists (select 1 from room_events where room_events.room = rooms.room)`;
  await transaction.query(
    `insert into rooms (room, company_id, announced_at)
     select ${HIDDEN_NAME('room')}, company_id, announced_at from rooms where ${unused} on conflict (room) do nothing`,
    [names],
  );
  await transaction.query(
    `update erased_meetings set room = ${HIDDEN_NAME('room')} where room in (select room from rooms where ${unused})`,
    [names],
  );
  await transaction.query(`delete from rooms where ${unused}`, [names]);
}

/** In upper case, which no name of a room has. */
export const HIDDEN_NAME = (room: string) =>
  `'ERASED ' || encode(sha256(convert_to(${room}, 'UTF8')), 'hex')`;

/** The erased meeting that a new event is about; null if there is none. The caller has locked the room. */
export async function erasedMeetingOf(
  transaction: Transaction,
  room: string,
  event: Pick<RoomEvent, 'kind' | 'isBreakout'> & Pick<TimedEvent, 'happenedAtMs' | 'beganAtMs'>,
): Promise<string | null> {
  const { kind, isBreakout, happenedAtMs, beganAtMs } = event;
  const beginMs = beganAtMs ?? happenedAtMs - (kind === 'left' ? LEAVING_MS : 0);
  const [erased] = await transaction.query<ErasedMeeting>(
    `select meeting_id as "meetingId", is_open as "isOpen", erased_at as "erasedAt" from erased_meetings
     where room in ($1, ${HIDDEN_NAME('$1')}) and from_at <= $2 and until_at >= $3 order by erased_at desc, meeting_id limit 1`,
    [room, new Date(happenedAtMs), new Date(beginMs)],
  );
  if (erased === undefined) return null;
  if (!erased.isOpen || isBreakout) return erased.meetingId;
  const isNewUse = kind === 'created' && happenedAtMs > erased.erasedAt.getTime();
  if (isNewUse || kind === 'destroyed') {
    await transaction.query(
      `update erased_meetings set is_open = false, until_at = greatest(from_at, $2) where meeting_id = $1`,
      [erased.meetingId, new Date(isNewUse ? happenedAtMs - 1 : happenedAtMs)],
    );
  }
  return isNewUse ? null : erased.meetingId;
}

export async function dropErasedSpans({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): Promise<void> {
  const sql = `delete from erased_meetings where meeting_id = any (array(
    select meeting_id from erased_meetings where erased_at < $1
    order by erased_at limit ${CHUNK_ROWS} for update skip locked))`;
  const values = [new Date(clock.now() - KEEP_MS)];
  await changeInChunks(database, { sql, values, chunkRows: CHUNK_ROWS, maxChunks: 1 });
}

function spanOf({ sessions, startsAt, announcedAt, createdAt, ...times }: Meeting, nowMs: number): Span {
  const first = sessions[0];
  if (first === undefined) return plannedSpan(startsAt?.getTime() ?? null, announcedAt ?? createdAt, nowMs);
  const startedAtMs = (times.startedAt ?? times.endedAt ?? createdAt).getTime();
  const fromMs = startedAtMs - (first.startKnown ? SAME_MS : ORPHAN_MS);
  const last = sessions.at(-1) ?? first;
  // An end that was only assumed may still be reported.
  const isOpen = times.endedAt === null || !last.endKnown;
  if (!isOpen && times.endedAt !== null)
    return { fromMs, untilMs: times.endedAt.getTime() + SAME_MS, isOpen };
  const lastHeardMs = times.endedAt?.getTime() ?? nowMs;
  return { fromMs, untilMs: lastHeardMs + ORPHAN_MS, isOpen };
}

/** Of a meeting of which nothing was reported: what happened before the erasure, in the time in which it was due. */
function plannedSpan(startsAtMs: number | null, announcedAt: Date, nowMs: number): Span {
  if (startsAtMs === null) return { fromMs: announcedAt.getTime(), untilMs: nowMs, isOpen: false };
  const untilMs = Math.min(nowMs, startsAtMs + LATEST_MS);
  return { fromMs: startsAtMs - EARLIEST_MS, untilMs, isOpen: false };
}
