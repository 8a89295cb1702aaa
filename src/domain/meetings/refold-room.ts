import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { assignUses, isAfter } from './assign-uses.ts';
import { foldRoom, type RoomUse } from './fold-room.ts';
import { type KeptUse, keptUse, MEETING_COLUMNS, type Meeting, spanOf } from './meeting.ts';
import { MEETING_QUEUE } from './queues.ts';
import { readRoomEvents } from './room-events-kept.ts';

export interface RefoldParts {
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
}

/** The room, locked by the caller. */
export interface LockedRoom {
  readonly room: string;
  readonly companyId: string | null;
  readonly announcedAt: Date | null;
}

const DAY_MS = 86_400_000;
/** Events come up to a week late; what is older than this is as it is. */
const LOOK_BACK_MS = 10 * DAY_MS;

/**
 * Brings a room's meetings into agreement with its events and announcements, and hands on those that have changed. The
 * caller has locked the room, so that of two events at once one sees the other.
 */
export async function refoldRoom(
  transaction: Transaction,
  parts: RefoldParts,
  locked: LockedRoom,
  sinceMs = parts.clock.now() - LOOK_BACK_MS,
): Promise<void> {
  const { clock, secrets } = parts;
  const nowMs = clock.now();
  const since = new Date(Math.min(sinceMs, nowMs - LOOK_BACK_MS));
  const events = await readRoomEvents(transaction, locked.room, since);
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
  for (const { announcementId, uses } of assignUses(foldRoom(events, nowMs), announcements)) {
    // The id that was told for these events before, so that it keeps its meaning.
    const told = uses.flatMap(({ eventIds }) => eventIds.map((id) => meetingOf.get(id) ?? ''));
    const id = announcementId ?? told.sort().find((one) => spare.has(one)) ?? secrets.newId();
    spare.delete(id);
    settled.add(id);
    await write(transaction, parts, locked, { id, row: known.get(id) ?? null, uses });
  }
  for (const { id } of announcements) {
    if (!settled.has(id))
      await write(transaction, parts, locked, { id, row: known.get(id) ?? null, uses: [] });
  }
  await transaction.query(`delete from meetings where id = any($1::uuid[]) and origin = 'room'`, [
    [...spare.keys()],
  ]);
}

interface Wanted {
  readonly id: string;
  readonly row: Meeting | null;
  readonly uses: readonly RoomUse[];
}

async function write(
  transaction: Transaction,
  { jobQueue, clock }: RefoldParts,
  { room, companyId, announcedAt }: LockedRoom,
  { id, row, uses }: Wanted,
): Promise<void> {
  const sessions = uses.map(keptUse);
  const [first] = uses;
  const isOwned = first !== undefined && announcedAt !== null && isAfter(announcedAt.getTime(), first);
  const owner = row?.origin === 'announced' ? row.companyId : isOwned ? companyId : null;
  const isSame = row !== null && row.companyId === owner && textOf(row.sessions) === textOf(sessions);
  if (!isSame) {
    const { startedAt, endedAt } = spanOf(sessions);
    await transaction.query(
      `insert into meetings (id, room, company_id, origin, sessions, started_at, ended_at, created_at, updated_at)
       values ($1, $2, $3, 'room', $4::text::jsonb, $5, $6, $7, $7)
       on conflict (id) do update set company_id = excluded.company_id, sessions = excluded.sessions,
         started_at = excluded.started_at, ended_at = excluded.ended_at, updated_at = excluded.updated_at`,
      [id, room, owner, JSON.stringify(sessions), startedAt, endedAt, new Date(clock.now())],
    );
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, { within: transaction });
  }
  const eventIds = uses.flatMap((use) => use.eventIds);
  const moved = await transaction.query(
    `update room_events set meeting_id = $1 where id = any($2::bigint[]) and meeting_id is distinct from $1
     returning id`,
    [id, eventIds],
  );
  // Somebody more who was there: while it goes on this can wait for its end.
  const hasEnded = sessions.length > 0 && sessions.every(({ endedAt }) => endedAt !== null);
  if (isSame && hasEnded && moved.length > 0) {
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, { within: transaction });
  }
}

/** The database keeps the members of an object in an order of its own. */
function textOf(uses: readonly KeptUse[]): string {
  return JSON.stringify(
    uses.map(({ startedAt, startKnown, endedAt, endKnown }) => [startedAt, startKnown, endedAt, endKnown]),
  );
}
