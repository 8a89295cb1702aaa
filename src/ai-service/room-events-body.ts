import { z } from 'zod';
import type { ReceivedEvent } from '../domain/meetings/receive-event.ts';
import type { Occupant, RoomEventKind } from '../domain/meetings/room-event.ts';
import { roomNameOf } from '../domain/meetings/room-name.ts';

const LONGEST_ROOM = 300;
const MOST_OCCUPANTS = 1_000;
/** Past this a number of seconds is one of milliseconds. */
const LARGEST_SECONDS = 100_000_000_000;

const seconds = z.number().nonnegative().max(LARGEST_SECONDS);
const shortText = z.string().max(300);

const occupant = z.object({
  name: shortText.nullish(),
  email: shortText.nullish(),
  id: z.union([shortText, z.number()]).nullish(),
  occupant_jid: shortText.nullish(),
  joined_at: seconds.nullish(),
  left_at: seconds.nullish(),
  total_dominant_speaker_time: z.number().nonnegative().nullish(),
});

/** The documented object. */
const plainEvent = z.object({
  event: z.enum(['room_created', 'room_destroyed']),
  room: z.string().min(1).max(LONGEST_ROOM),
  timestamp: z.iso.datetime({ offset: true }),
});

/** What Jitsi's event_sync sends: times are seconds since the epoch, and members it does not know are left alone. */
const serverEvent = z.object({
  event_name: z.enum(['muc-room-created', 'muc-room-destroyed', 'muc-occupant-joined', 'muc-occupant-left']),
  room_name: z.string().min(1).max(LONGEST_ROOM),
  room_jid: z.string().max(500).nullish(),
  is_breakout: z.boolean().nullish(),
  breakout_room_id: shortText.nullish(),
  created_at: seconds.nullish(),
  destroyed_at: seconds.nullish(),
  all_occupants: z.array(occupant).max(MOST_OCCUPANTS).nullish(),
  occupant: occupant.nullish(),
});

export const roomEvent = z.union([plainEvent, serverEvent]);

export type ReadEvent =
  | { readonly outcome: 'read'; readonly event: ReceivedEvent }
  | { readonly outcome: 'wrong-event'; readonly message: string; readonly param: string }
  | { readonly outcome: 'invalid'; readonly message: string; readonly param: string | null };

const KINDS: Readonly<Record<string, RoomEventKind>> = {
  room_created: 'created',
  room_destroyed: 'destroyed',
  'muc-room-created': 'created',
  'muc-room-destroyed': 'destroyed',
  'muc-occupant-joined': 'joined',
  'muc-occupant-left': 'left',
};

/** Either form, as one thing. */
export function readEvent(body: unknown, kind: RoomEventKind): ReadEvent {
  const isServer = typeof body === 'object' && body !== null && 'event_name' in body;
  const name = isServer ? body.event_name : (body as { event?: unknown } | null)?.event;
  const param = isServer ? 'event_name' : 'event';
  if (typeof name === 'string' && KINDS[name] !== kind) {
    const names = Object.keys(KINDS).filter((one) => KINDS[one] === kind);
    return { outcome: 'wrong-event', message: `This route takes ${names.join(' or ')} alone.`, param };
  }
  const read = (isServer ? serverEvent : plainEvent).safeParse(body);
  if (!read.success) {
    const [issue] = read.error.issues;
    return {
      outcome: 'invalid',
      message: issue?.message ?? 'it cannot be read',
      param: issue?.path.join('.') || null,
    };
  }
  return 'event_name' in read.data ? fromServer(read.data, kind) : fromPlain(read.data, kind);
}

function fromPlain({ room, timestamp }: z.output<typeof plainEvent>, kind: RoomEventKind): ReadEvent {
  const name = roomNameOf(room);
  if (name === null) return noName('room');
  const event = {
    kind,
    isBreakout: false,
    happenedAtMs: Date.parse(timestamp),
    beganAtMs: null,
    occupants: [],
  };
  return { outcome: 'read', event: { ...event, room: name, roomJid: null, breakoutId: null } };
}

function fromServer(body: z.output<typeof serverEvent>, kind: RoomEventKind): ReadEvent {
  const room = roomNameOf(body.room_name);
  if (room === null) return noName('room_name');
  const [at, began, param] = timesOf(body, kind);
  if (at == null) return { outcome: 'invalid', message: 'a time in seconds is needed', param };
  const told = kind === 'joined' || kind === 'left' ? [body.occupant ?? {}] : (body.all_occupants ?? []);
  const event: ReceivedEvent = {
    kind,
    isBreakout: body.is_breakout === true,
    happenedAtMs: toMs(at),
    beganAtMs: began == null ? null : toMs(began),
    occupants: told.map(occupantOf),
    room,
    roomJid: body.room_jid ?? null,
    breakoutId: body.breakout_room_id ?? null,
  };
  return { outcome: 'read', event };
}

function timesOf(
  { created_at, destroyed_at, occupant: who }: z.output<typeof serverEvent>,
  kind: RoomEventKind,
): readonly [at: number | null | undefined, began: number | null | undefined, param: string] {
  switch (kind) {
    case 'created':
      return [created_at, null, 'created_at'];
    case 'destroyed':
      return [destroyed_at, created_at, 'destroyed_at'];
    case 'joined':
      return [who?.joined_at, null, 'occupant.joined_at'];
    case 'left':
      return [who?.left_at, who?.joined_at, 'occupant.left_at'];
  }
}

function occupantOf(told: z.output<typeof occupant>): Occupant {
  const text = (value: string | number | null | undefined) => {
    const cleaned = value == null ? '' : String(value).toWellFormed().replace(/\p{C}/gu, '').trim();
    return cleaned === '' ? null : cleaned;
  };
  return {
    jid: text(told.occupant_jid),
    id: text(told.id),
    name: text(told.name),
    email: text(told.email),
    joinedAtMs: told.joined_at == null ? null : toMs(told.joined_at),
    leftAtMs: told.left_at == null ? null : toMs(told.left_at),
    talkMs: told.total_dominant_speaker_time ?? null,
  };
}

function toMs(secondsSince: number): number {
  return Math.round(secondsSince * 1_000);
}

function noName(param: string): ReadEvent {
  return { outcome: 'invalid', message: 'a room’s name holds no control characters', param };
}
