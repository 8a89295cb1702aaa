import type { Statements } from '../../ports/database.ts';

/** A person in a room, as far as the meeting server identifies them. */
export interface Occupant {
  /** Different for each join. */
  readonly jid: string | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly joinedAtMs: number | null;
  readonly leftAtMs: number | null;
  /** How long this person was the loudest; null if the server does not measure it. */
  readonly talkMs: number | null;
}

export type RoomEventKind = 'created' | 'destroyed' | 'joined' | 'left';

/** Problems with the times of an event; see event-times.ts. */
export type TimeFlag = 'old_timestamp' | 'future_timestamp' | 'inconsistent_times';

/** An event of the meeting server about a room, in either of its two formats. */
export interface RoomEvent {
  readonly kind: RoomEventKind;
  /** A breakout room has the name of its main room: it shows that the main room is in use, but does not end it. */
  readonly isBreakout: boolean;
  readonly happenedAtMs: number;
  /** For an end, when it began; null if not reported. */
  readonly beganAtMs: number | null;
  readonly occupants: readonly Occupant[];
}

/** The effective times of an event, computed in event-times.ts. */
export interface TimedEvent {
  readonly happenedAtMs: number;
  readonly beganAtMs: number | null;
  readonly occupants: readonly Occupant[];
  readonly timeFlags: readonly TimeFlag[];
  /** The time as sent, if the time of receipt is used instead. */
  readonly sentAtMs: number | null;
}

export interface StoredEvent extends RoomEvent {
  readonly id: bigint;
  readonly meetingId: string | null;
  /** By our own clock. */
  readonly receivedAtMs: number;
  readonly timeFlags: readonly TimeFlag[];
}

/** A room with more events than this in ten days is not used by people: only its newest events count. */
export const MOST_EVENTS = 20_000;

/** Null if it was stored before. */
export async function insertEvent(
  statements: Statements,
  room: string,
  event: Pick<RoomEvent, 'kind' | 'isBreakout'> &
    TimedEvent & { readonly dedupeKey: string; readonly receivedAt: Date },
): Promise<bigint | null> {
  const { kind, isBreakout, happenedAtMs, beganAtMs, occupants, dedupeKey, receivedAt } = event;
  const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));
  const [row] = await statements.query<{ id: bigint }>(
    `insert into room_events
       (room, kind, is_breakout, happened_at, began_at, occupants, dedupe_key, received_at, time_flags, sent_at)
     values ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8, $9::text[], $10)
     on conflict (room, dedupe_key) do nothing returning id`,
    [
      room,
      kind,
      isBreakout,
      new Date(happenedAtMs),
      dateOf(beganAtMs),
      JSON.stringify(occupants),
      dedupeKey,
      receivedAt,
      [...event.timeFlags],
      dateOf(event.sentAtMs),
    ],
  );
  return row?.id ?? null;
}

/** The stored event, with the meeting that it was assigned to. */
export async function findEvent(
  statements: Statements,
  room: string,
  dedupeKey: string,
): Promise<StoredEvent | null> {
  const [row] = await statements.query<EventRow>(
    `select ${EVENT_COLUMNS} from room_events where room = $1 and dedupe_key = $2`,
    [room, dedupeKey],
  );
  return row === undefined ? null : eventOf(row);
}

export async function readRoomEvents(
  statements: Statements,
  room: string,
  since: Date,
): Promise<readonly StoredEvent[]> {
  const rows = await statements.query<EventRow>(
    `select ${EVENT_COLUMNS} from room_events where room = $1 and happened_at >= $2
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
    `select ${EVENT_COLUMNS} from room_events where meeting_id = $1
     order by happened_at, kind, dedupe_key limit ${MOST_EVENTS}`,
    [meetingId],
  );
  return rows.map(eventOf);
}

/** The same for a repeated event. At most 1,000 characters. */
export function dedupeKeyOf(
  { kind, isBreakout, happenedAtMs, occupants }: RoomEvent,
  place: { readonly jid: string | null; readonly breakoutId: string | null },
): string {
  const who = kind === 'joined' || kind === 'left' ? (occupants[0]?.jid ?? occupants[0]?.id ?? '') : '';
  const breakout = isBreakout ? (place.breakoutId ?? place.jid ?? 'breakout') : '';
  return [kind, happenedAtMs, place.jid ?? '', breakout, who].join('|').slice(0, 1_000);
}

const LONGEST_ROOM_NAME = 300;
const NOT_IN_A_NAME = /[\p{C}\u2028\u2029]/u;

/** Lower case, because the meeting server ignores case. Null if the text is not a valid name. */
export function roomNameOf(text: string): string | null {
  const name = text.trim().toLowerCase();
  return name === '' || name.length > LONGEST_ROOM_NAME || NOT_IN_A_NAME.test(name) ? null : name;
}

interface EventRow {
  readonly id: bigint;
  readonly kind: RoomEventKind;
  readonly isBreakout: boolean;
  readonly happenedAt: Date;
  readonly beganAt: Date | null;
  readonly occupants: readonly Occupant[];
  readonly meetingId: string | null;
  readonly receivedAt: Date;
  readonly timeFlags: readonly TimeFlag[];
}

const EVENT_COLUMNS = `id, kind, is_breakout as "isBreakout", happened_at as "happenedAt", began_at as "beganAt", occupants,
  meeting_id as "meetingId", received_at as "receivedAt", time_flags as "timeFlags"`;

function eventOf({ happenedAt, beganAt, receivedAt, ...rest }: EventRow): StoredEvent {
  return {
    ...rest,
    happenedAtMs: happenedAt.getTime(),
    beganAtMs: beganAt?.getTime() ?? null,
    receivedAtMs: receivedAt.getTime(),
  };
}
