import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { JobHandler, JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { dropErasedSpans, erasedMeetingOf, HIDDEN_NAME, hideRooms } from './erased-meetings.ts';
import { timesOf } from './event-times.ts';
import { assignUses, foldRoom, isOwned, LATEST_MS, ORPHAN_MS, type RoomUse } from './fold-room.ts';
import {
  MEETING_COLUMNS,
  MEETING_QUEUE,
  type Meeting,
  type StoredRoomUse,
  spanOf,
  storedRoomUse,
} from './meeting.ts';
import {
  dedupeKeyOf,
  findEvent,
  insertEvent,
  MOST_EVENTS,
  type RoomEvent,
  readRoomEvents,
  type StoredEvent,
  type TimeFlag,
} from './room-events.ts';

export interface ReceivedEvent extends RoomEvent {
  readonly room: string;
  readonly roomJid: string | null;
  readonly breakoutId: string | null;
}

type Reception =
  | {
      readonly outcome: 'received';
      readonly meetingId: string;
      readonly isNew: boolean;
      readonly timeFlags: readonly TimeFlag[];
    }
  /** Rooms of no company have as many events as are stored of them. */
  | { readonly outcome: 'too-many-of-no-company' };

export interface RefoldParts {
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
}

/** The room, whose row the caller has locked. */
interface LockedRoom {
  readonly room: string;
  readonly companyId: string | null;
  readonly announcedAt: Date | null;
}

const DAY_MS = 86_400_000;
/** Meetings older than this change only if an event arrives that is as old. */
const LOOK_BACK_MS = 10 * DAY_MS;
/** How long events of unannounced rooms are kept. */
const KEEP_UNANNOUNCED_MS = 30 * DAY_MS;
const MOST_ROOMS_AT_ONCE = 500;
/** What is stored of rooms of no company. Whoever reports rooms could invent names without end. */
export const MOST_OF_NO_COMPANY = { rooms: 10_000, events: 200_000 } as const;

/**
 * Stores an event of the meeting server and returns the meeting it belongs to, in one short transaction. Longer work is
 * enqueued when it commits. A repeated event, and one of a meeting that was erased, changes nothing.
 */
export async function receiveEvent(
  { database, ...parts }: RefoldParts & { readonly database: Database },
  event: ReceivedEvent,
): Promise<Reception> {
  const nowMs = parts.clock.now();
  const { room, roomJid: jid, breakoutId } = event;
  const times = timesOf(event, nowMs);
  // From the times as sent, which are the same in a repeated event.
  const dedupeKey = dedupeKeyOf(event, { jid, breakoutId });
  const receive = async (transaction: Transaction): Promise<Reception> => {
    const locked = await lockRoom(transaction, room);
    const erasedId = await erasedMeetingOf(transaction, room, { ...event, ...times });
    if (erasedId !== null) {
      await hideRooms(transaction, [room]);
      return { outcome: 'received', meetingId: erasedId, isNew: false, timeFlags: times.timeFlags };
    }
    const receivedAt = new Date(nowMs);
    const added = await insertEvent(transaction, room, { ...event, ...times, dedupeKey, receivedAt });
    if (added !== null) {
      if (locked.companyId === null) await countOfNoCompany(transaction, room, receivedAt);
      const beginMs = times.beganAtMs ?? times.happenedAtMs;
      await refoldRoom(transaction, parts, locked, beginMs - DAY_MS);
    }
    const stored = await findEvent(transaction, room, dedupeKey);
    if (stored === null) throw new Error('an event of a room was not stored');
    const meetingId = stored.meetingId ?? (await meetingOfOneEvent(transaction, parts, locked, stored));
    return { outcome: 'received', meetingId, isNew: added !== null, timeFlags: stored.timeFlags };
  };
  try {
    return await database.transaction(receive);
  } catch (error) {
    if (error instanceof TooManyOfNoCompany) return { outcome: 'too-many-of-no-company' };
    throw error;
  }
}

/** Undoes the transaction, which has stored the event. */
class TooManyOfNoCompany extends Error {}

async function countOfNoCompany(transaction: Transaction, room: string, receivedAt: Date): Promise<void> {
  await transaction.query(
    `update rooms set event_count = event_count + 1, last_event_at = greatest(last_event_at, $2),
       first_event_at = least(first_event_at, $2)
     where room = $1`,
    [room, receivedAt],
  );
  const [stored] = await transaction.query<{ rooms: bigint; events: bigint }>(
    `select count(*) as rooms, coalesce(sum(event_count), 0)::bigint as events from rooms where company_id is null`,
  );
  const { rooms = 0n, events = 0n } = stored ?? {};
  if (rooms > MOST_OF_NO_COMPANY.rooms || events > MOST_OF_NO_COMPANY.events) throw new TooManyOfNoCompany();
}

/** An event that is older than the newest MOST_EVENTS of its room becomes a meeting of its own. */
async function meetingOfOneEvent(
  transaction: Transaction,
  parts: RefoldParts,
  locked: LockedRoom,
  event: StoredEvent,
): Promise<string> {
  const id = parts.secrets.newId();
  await writeMeeting(transaction, parts, locked, {
    id,
    row: null,
    uses: foldRoom([event], parts.clock.now()),
  });
  return id;
}

/**
 * Updates a room's meetings from its events and announcements, and enqueues those that have changed. The caller has
 * locked the room, so that concurrent events are processed one after the other.
 */
export async function refoldRoom(
  transaction: Transaction,
  parts: RefoldParts,
  locked: LockedRoom,
  sinceMs = parts.clock.now() - LOOK_BACK_MS,
): Promise<void> {
  const { clock, secrets } = parts;
  const nowMs = clock.now();
  const wantedSince = new Date(Math.min(sinceMs, nowMs - LOOK_BACK_MS));
  const events = await readRoomEvents(transaction, locked.room, wantedSince);
  // If the oldest events were not read, their meetings stay unchanged.
  const oldest = events.length === MOST_EVENTS ? events.at(-1) : undefined;
  const since = oldest === undefined ? wantedSince : new Date(oldest.happenedAtMs);
  const rows = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings
     where room = $1 and (origin = 'announced' or coalesce(ended_at, started_at, created_at) >= $2)
       and (started_at is null or started_at >= $2) order by id`,
    [locked.room, since],
  );
  const announcements = rows.flatMap(({ id, announcedAt, startsAt }) =>
    announcedAt === null
      ? []
      : [{ id, announcedAtMs: announcedAt.getTime(), startsAtMs: startsAt?.getTime() ?? null }],
  );
  const meetingOf = new Map(events.map(({ id, meetingId }) => [id, meetingId]));
  const spare = new Map(rows.filter(({ origin }) => origin === 'room').map((row) => [row.id, row]));
  const known = new Map(rows.map((row) => [row.id, row]));
  const settled = new Set<string>();
  const ownedSinceMs = locked.announcedAt?.getTime() ?? null;
  for (const { announcementId, uses } of assignUses(foldRoom(events, nowMs), announcements, ownedSinceMs)) {
    // Reuses the id that these events had before, so that it stays stable.
    const earlier = uses.flatMap(({ eventIds }) => eventIds.map((id) => meetingOf.get(id) ?? ''));
    const id = announcementId ?? earlier.sort().find((one) => spare.has(one)) ?? secrets.newId();
    spare.delete(id);
    settled.add(id);
    await writeMeeting(transaction, parts, locked, { id, row: known.get(id) ?? null, uses });
  }
  for (const { id } of announcements) {
    if (!settled.has(id))
      await writeMeeting(transaction, parts, locked, { id, row: known.get(id) ?? null, uses: [] });
  }
  await transaction.query(`delete from meetings where id = any($1::uuid[]) and origin = 'room'`, [
    [...spare.keys()],
  ]);
}

/**
 * Inserts the room if it is new. Other transactions wait until this one ends. A room whose name was hidden by an erasure has the
 * owner that it had. A room of which no event is stored belongs to the company that has the beginning of its name; one that was
 * reported before may have strangers to it, and an operator has to assign it.
 */
export async function lockRoom(transaction: Transaction, room: string): Promise<LockedRoom> {
  const [locked] = await transaction.query<LockedRoom>(
    `insert into rooms (room) values ($1) on conflict (room) do update set room = excluded.room
     returning room, company_id as "companyId", announced_at as "announcedAt"`,
    [room],
  );
  if (locked === undefined) throw new Error('a room could not be locked');
  if (locked.companyId !== null) return locked;
  // A statement of its own: an erasure that the one above has waited for is not in its snapshot.
  const [owned] = await transaction.query<LockedRoom>(
    `update rooms set company_id = owner.company_id, announced_at = owner.since
     from (
       select company_id, announced_at as since, 1 as rank from rooms
         where room = ${HIDDEN_NAME('$1')} and company_id is not null
       union all
       select company_id, set_at, 2 from room_prefixes
         where starts_with($1, prefix) and not exists (select 1 from room_events where room = $1)
       order by rank limit 1) as owner
     where rooms.room = $1
     returning rooms.room, rooms.company_id as "companyId", rooms.announced_at as "announcedAt"`,
    [room],
  );
  return owned ?? locked;
}

/**
 * Whether a room without an owner is in use, or people were seen in it within the 30 days that are stored. It could be
 * the room of a regular meeting: a company that announces it could read the attendees of the next one. An ended use
 * without known attendees does not block a name.
 */
export async function wasUsedByOthers(
  transaction: Transaction,
  room: string,
  nowMs: number,
): Promise<boolean> {
  const events = await readRoomEvents(transaction, room, new Date(nowMs - KEEP_UNANNOUNCED_MS));
  return (
    events.some(({ occupants }) => occupants.length > 0) ||
    foldRoom(events, nowMs).some(({ endedAtMs }) => endedAtMs === null)
  );
}

export interface MeetingRetentionParts extends RefoldParts {
  readonly database: Database;
  readonly log: Log;
}

/** Closes meetings whose end was lost, marks those that were not held, and deletes old ones of unannounced rooms. */
export function createMeetingRetentionHandler(parts: MeetingRetentionParts): JobHandler {
  return async ({ signal }) => {
    await closeOrphans(parts, signal);
    await noteNotHeld(parts);
    await dropUnannounced(parts);
    await dropErasedSpans(parts);
  };
}

interface FoldedMeeting {
  readonly id: string;
  readonly row: Meeting | null;
  readonly uses: readonly RoomUse[];
}

async function writeMeeting(
  transaction: Transaction,
  { jobQueue, clock }: RefoldParts,
  { room, companyId, announcedAt }: LockedRoom,
  { id, row, uses }: FoldedMeeting,
): Promise<void> {
  const sessions = uses.map(storedRoomUse);
  const ownedSinceMs = announcedAt?.getTime() ?? null;
  const isCompanys = uses.length > 0 && uses.every((use) => isOwned(ownedSinceMs, use));
  const owner = row?.origin === 'announced' ? row.companyId : isCompanys ? companyId : null;
  const waiting = { within: transaction, ...(owner === null ? {} : { owner }) };
  const isSame =
    row !== null && row.companyId === owner && sessionsText(row.sessions) === sessionsText(sessions);
  if (!isSame) {
    const { startedAt, endedAt } = spanOf(sessions);
    await transaction.query(
      `insert into meetings (id, room, company_id, origin, sessions, started_at, ended_at, created_at, updated_at)
       values ($1, $2, $3, 'room', $4::text::jsonb, $5, $6, $7, $7)
       on conflict (id) do update set company_id = excluded.company_id, sessions = excluded.sessions,
         started_at = excluded.started_at, ended_at = excluded.ended_at, updated_at = excluded.updated_at`,
      [id, room, owner, JSON.stringify(sessions), startedAt, endedAt, new Date(clock.now())],
    );
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, waiting);
  }
  const eventIds = uses.flatMap((use) => use.eventIds);
  const moved = await transaction.query(
    `update room_events set meeting_id = $1 where id = any($2::bigint[]) and meeting_id is distinct from $1
     returning id`,
    [id, eventIds],
  );
  // Only events were added, such as another participant. While the meeting is ongoing, this can wait for its end.
  const hasEnded = sessions.length > 0 && sessions.every(({ endedAt }) => endedAt !== null);
  if (isSame && hasEnded && moved.length > 0) {
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, waiting);
  }
}

/** As an array, because jsonb does not preserve the order of an object's members. */
function sessionsText(uses: readonly StoredRoomUse[]): string {
  return JSON.stringify(
    uses.map(({ startedAt, startKnown, endedAt, endKnown }) => [startedAt, startKnown, endedAt, endKnown]),
  );
}

async function closeOrphans(parts: MeetingRetentionParts, signal: AbortSignal): Promise<void> {
  const { database, clock, log } = parts;
  const rooms = await database.query<{ room: string; firstAt: Date }>(
    `select room, min(started_at) as "firstAt" from meetings
     where ended_at is null and started_at < $1 group by room order by 2 limit ${MOST_ROOMS_AT_ONCE}`,
    [new Date(clock.now() - ORPHAN_MS)],
  );
  for (const { room, firstAt } of rooms) {
    if (signal.aborted) return;
    await database.transaction(async (transaction) => {
      const locked = await lockRoom(transaction, room);
      await refoldRoom(transaction, parts, locked, firstAt.getTime() - DAY_MS);
    });
  }
  if (rooms.length > 0) log.info('rooms whose end may be lost were checked', { rooms: rooms.length });
}

async function noteNotHeld({ database, clock, jobQueue }: MeetingRetentionParts): Promise<void> {
  const meetings = await database.query<{ id: string }>(
    `select id from meetings where started_at is null and insight is null and starts_at < $1
     order by starts_at limit ${MOST_ROOMS_AT_ONCE}`,
    [new Date(clock.now() - LATEST_MS)],
  );
  for (const { id } of meetings) {
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, { dedupeKey: `not held ${id}` });
  }
}

/** With the rooms of which nothing is left. Rooms are locked before their meetings, as for an event. */
async function dropUnannounced({ database, clock }: MeetingRetentionParts): Promise<void> {
  const before = new Date(clock.now() - KEEP_UNANNOUNCED_MS);
  await database.transaction(async (transaction) => {
    const rooms = await transaction.query<{ room: string }>(
      `select room from rooms where room = any (array(
         select room from meetings where company_id is null and updated_at < $1
         union select room from rooms where company_id is null and event_count = 0 limit ${MOST_ROOMS_AT_ONCE}))
       order by room for update skip locked`,
      [before],
    );
    const names = rooms.map(({ room }) => room);
    await transaction.query(
      'delete from meetings where room = any($1::text[]) and company_id is null and updated_at < $2',
      [names, before],
    );
    await transaction.query(
      `update rooms set event_count = left_over.count, first_event_at = left_over.first_at
       from (select named.room, count(id) as count, min(received_at) as first_at
             from unnest($1::text[]) as named(room) left join room_events on room_events.room = named.room
             group by named.room) as left_over
       where rooms.room = left_over.room and rooms.company_id is null`,
      [names],
    );
    await transaction.query(
      `delete from rooms where room = any($1::text[]) and company_id is null
         and not exists (select 1 from meetings where meetings.room = rooms.room)
         and not exists (select 1 from room_events where room_events.room = rooms.room)
         and not exists (select 1 from erased_meetings where erased_meetings.room = rooms.room)`,
      [names],
    );
  });
}
