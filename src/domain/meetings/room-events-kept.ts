import type { Statements } from '../../ports/database.ts';
import type { Occupant, RoomEvent, RoomEventKind, StoredEvent } from './room-event.ts';

interface EventRow {
  readonly id: bigint;
  readonly kind: RoomEventKind;
  readonly isBreakout: boolean;
  readonly happenedAt: Date;
  readonly beganAt: Date | null;
  readonly occupants: readonly Occupant[];
  readonly meetingId: string | null;
}

/** A room that is told of more often than this in ten days is not one that people meet in: its newest ones count. */
const MOST_EVENTS = 20_000;

const COLUMNS = `id, kind, is_breakout as "isBreakout", happened_at as "happenedAt", began_at as "beganAt", occupants,
  meeting_id as "meetingId"`;

/** Null where it was there before. */
export async function insertEvent(
  statements: Statements,
  room: string,
  event: RoomEvent & { readonly dedupeKey: string; readonly receivedAt: Date },
): Promise<bigint | null> {
  const { kind, isBreakout, happenedAtMs, beganAtMs, occupants, dedupeKey, receivedAt } = event;
  const [row] = await statements.query<{ id: bigint }>(
    `insert into room_events (room, kind, is_breakout, happened_at, began_at, occupants, dedupe_key, received_at)
     values ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8) on conflict (room, dedupe_key) do nothing returning id`,
    [
      room,
      kind,
      isBreakout,
      new Date(happenedAtMs),
      beganAtMs === null ? null : new Date(beganAtMs),
      JSON.stringify(occupants),
      dedupeKey,
      receivedAt,
    ],
  );
  return row?.id ?? null;
}

/** In which meeting an event has ended up. */
export async function findMeetingOfEvent(
  statements: Statements,
  room: string,
  dedupeKey: string,
): Promise<string | null> {
  const [row] = await statements.query<{ meetingId: string | null }>(
    `select meeting_id as "meetingId" from room_events where room = $1 and dedupe_key = $2`,
    [room, dedupeKey],
  );
  return row?.meetingId ?? null;
}

export async function readRoomEvents(
  statements: Statements,
  room: string,
  since: Date,
): Promise<readonly StoredEvent[]> {
  const rows = await statements.query<EventRow>(
    `select ${COLUMNS} from room_events where room = $1 and happened_at >= $2
     order by happened_at desc, id desc limit ${MOST_EVENTS}`,
    [room, since],
  );
  return rows.map(eventOf);
}

export async function readMeetingEvents(
  statements: Statements,
  meetingId: string,
): Promise<readonly StoredEvent[]> {
  const rows = await statements.query<EventRow>(
    `select ${COLUMNS} from room_events where meeting_id = $1
     order by happened_at, kind, dedupe_key limit ${MOST_EVENTS}`,
    [meetingId],
  );
  return rows.map(eventOf);
}

function eventOf({ happenedAt, beganAt, ...rest }: EventRow): StoredEvent {
  return { ...rest, happenedAtMs: happenedAt.getTime(), beganAtMs: beganAt?.getTime() ?? null };
}
