import type { Context } from 'hono';
import { z } from 'zod';
import { type Occupant, type RoomEventKind, roomNameOf } from '../domain/meetings/room-events.ts';
import { type ReceivedEvent, receiveEvent } from '../domain/meetings/rooms.ts';
import { LONGEST_TRANSCRIPT, postTranscript } from '../domain/meetings/transcript.ts';
import { envelopeResponse, errorEnvelope } from '../http/error-envelope.ts';
import { LONGEST_ISO_TIME, readIsoTime } from '../http/iso-time.ts';
import { ACCEPTED_ENCODINGS, readBody, UNKNOWN_ENCODING } from '../http/read-body.ts';
import { readJson, TOO_DEEP } from '../http/read-json.ts';
import type { ServiceApp, ServiceVariables } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';

export interface RoomEventParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** An event with a thousand occupants has about 300 KB. */
const MOST_EVENT_BYTES = 1024 * 1024;
const MOST_TRANSCRIPT_BYTES = 4 * LONGEST_TRANSCRIPT;
const BODY_TIMEOUT_MS = 10_000;

export const transcriptBody = z.strictObject({
  text: z.string().min(1).max(LONGEST_TRANSCRIPT),
  /** Whether the text is a literal transcript or notes. */
  kind: z.enum(['transcript', 'notes']).default('transcript'),
});
/** The 202 answer to every event: its meeting, which the event may have created, and what is wrong with its times. */
export const eventAnswer = z.strictObject({
  meeting_id: z.uuid(),
  repeated: z.boolean(),
  flags: z.array(z.enum(['old_timestamp', 'future_timestamp', 'inconsistent_times'])),
});
export const transcriptAnswer = z.strictObject({ meeting_id: z.uuid() });

/**
 * All routes are internal: the caller must have added the guard. The meeting server resends an event after a 5xx
 * and drops it after a 4xx, so only events that can never be accepted get a 4xx.
 */
export function addRoomEvents(app: ServiceApp, parts: RoomEventParts): void {
  const routes: readonly (readonly [path: string, kind: RoomEventKind])[] = [
    ['/api/events/room/created', 'created'],
    ['/api/events/room/destroyed', 'destroyed'],
    ['/api/events/occupant/joined', 'joined'],
    ['/api/events/occupant/left', 'left'],
  ];
  for (const [path, kind] of routes) app.post(path, (context) => takeEvent(context, parts, kind));
  app.post('/api/meetings/:id/transcript', (context) => takeTranscript(context, parts));
}

async function takeEvent(
  context: Context<ServiceVariables>,
  parts: RoomEventParts,
  kind: RoomEventKind,
): Promise<Response> {
  const body = await jsonOf(context.req.raw, parts.clock, MOST_EVENT_BYTES);
  if (body instanceof Response) return body;
  const read = readEvent(body.value, kind);
  if (read.outcome !== 'read') {
    return refuse(read.outcome === 'wrong-event' ? 422 : 400, read.message, read.param);
  }
  const received = await receiveEvent(parts, read.event);
  if (received.outcome === 'too-many-of-no-company') {
    const requestId = context.get('requestId');
    parts.log.warn(
      'a room event is refused: too many rooms belong to no company. Set prefixes or assign rooms',
      {
        requestId,
      },
    );
    const message =
      'Too many rooms belong to no company. An operator has to set room prefixes or assign rooms.';
    return refuse(429, message, null);
  }
  const { meetingId, isNew, timeFlags: flags } = received;
  if (isNew && flags.length > 0) {
    parts.log.warn('the times of a room event are implausible: check the clock of the meeting server', {
      ...{ requestId: context.get('requestId'), meetingId, flags: flags.join(' ') },
      behindSeconds: Math.round((parts.clock.now() - read.event.happenedAtMs) / 1_000),
    });
  }
  const answer: z.output<typeof eventAnswer> = { meeting_id: meetingId, repeated: !isNew, flags: [...flags] };
  return context.json(answer, 202);
}

async function takeTranscript(context: Context, parts: RoomEventParts): Promise<Response> {
  const id = z.uuid().safeParse(context.req.param('id'));
  if (!id.success) return refuse(404, 'There is no such meeting.', 'id');
  const body = await jsonOf(context.req.raw, parts.clock, MOST_TRANSCRIPT_BYTES);
  if (body instanceof Response) return body;
  const read = transcriptBody.safeParse(body.value);
  if (!read.success) {
    const [issue] = read.error.issues;
    return refuse(400, issue?.message ?? 'it cannot be read', issue?.path.join('.') || null);
  }
  const { text, kind } = read.data;
  const posted = await parts.database.transaction((transaction) =>
    postTranscript(transaction, parts, { meetingId: id.data, kind, text }),
  );
  switch (posted.outcome) {
    case 'unknown':
      return refuse(404, 'There is no such meeting.', 'id');
    case 'unannounced':
      return refuse(
        409,
        'The room of this meeting belongs to no company. Announce it with createMeeting, or have an operator assign it.',
        'id',
      );
    case 'invalid':
      return refuse(422, `text: ${posted.message}.`, 'text');
    case 'posted': {
      const answer: z.output<typeof transcriptAnswer> = { meeting_id: posted.meeting.id };
      return context.json(answer, 202);
    }
  }
}

async function jsonOf(
  request: Request,
  clock: Clock,
  maxBytes: number,
): Promise<{ readonly value: unknown } | Response> {
  const read = await readBody(request, { maxBytes, timeoutMs: BODY_TIMEOUT_MS, clock });
  switch (read.outcome) {
    case 'too-large':
      return refuse(413, `The body is larger than ${maxBytes} bytes.`, null);
    // Not a 408 or 400: the body may be valid and must be sent again.
    case 'too-slow':
      return refuse(503, 'The request body did not arrive in time. Send it again.', null);
    case 'broken':
      return refuse(503, 'The request body is incomplete. Send it again.', null);
    case 'unknown-encoding':
      return refuse(415, UNKNOWN_ENCODING, null, ACCEPTED_ENCODINGS);
    case 'read':
  }
  const json = readJson(read.bytes);
  if (json.outcome === 'read') return json;
  return refuse(400, json.outcome === 'too-deep' ? TOO_DEEP : 'The body is not JSON.', null);
}

const CLIENT_ERRORS: Readonly<Record<number, string>> = {
  404: 'not_found_error',
  429: 'rate_limit_error',
};

function refuse(status: number, message: string, param: string | null, headers = {}): Response {
  const type = status >= 500 ? 'api_error' : (CLIENT_ERRORS[status] ?? 'invalid_request_error');
  return envelopeResponse(status, errorEnvelope(type, message, null, param), headers);
}

const LONGEST_ROOM = 300;
const MOST_OCCUPANTS = 1_000;
const LONGEST_TEXT = 300;
/** A larger number is in milliseconds rather than seconds. */
const LARGEST_SECONDS = 100_000_000_000;
const LATEST_MS = Date.UTC(9999, 11, 31);

/**
 * Values that people choose (names) or that clocks distort (times) are no reason to refuse an event: the sender drops a
 * refused event, and with it the end of a meeting. Long texts are truncated, and invalid times count as unknown.
 */
const text = z.string();
const eventTime = z.union([z.number(), z.string()]).meta({
  description: 'Seconds since the epoch (milliseconds where it is larger than 100,000,000,000), or ISO 8601.',
});

const occupant = z.object({
  name: text.nullish(),
  email: text.nullish(),
  id: z.union([text, z.number()]).nullish(),
  occupant_jid: text.nullish(),
  joined_at: eventTime.nullish(),
  left_at: eventTime.nullish(),
  total_dominant_speaker_time: z.number().nonnegative().nullish(),
});

/** The documented format. */
const plainEvent = z.object({
  event: z.enum(['room_created', 'room_destroyed']),
  room: z.string().min(1).max(LONGEST_ROOM),
  timestamp: z
    .string()
    .max(LONGEST_ISO_TIME)
    .refine((sent) => readIsoTime(sent) !== null, 'it is no ISO 8601 time, such as 2026-11-15T09:00:00Z')
    .meta({ format: 'date-time', description: 'ISO 8601. A time without a zone is in UTC.' }),
});

/** The format of Jitsi's event_sync: times are seconds since the epoch, and unknown members are ignored. */
const serverEvent = z.object({
  event_name: z.enum(['muc-room-created', 'muc-room-destroyed', 'muc-occupant-joined', 'muc-occupant-left']),
  room_name: z.string().min(1).max(LONGEST_ROOM),
  room_jid: text.nullish(),
  is_breakout: z.boolean().nullish(),
  breakout_room_id: text.nullish(),
  created_at: eventTime.nullish(),
  destroyed_at: eventTime.nullish(),
  all_occupants: z.array(occupant).nullish(),
  occupant: occupant.nullish(),
});

export const roomEvent = z.union([plainEvent, serverEvent]);

type SentTime = z.output<typeof eventTime> | null | undefined;

type ReadEvent =
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

/** Reads either format into the same event. */
function readEvent(body: unknown, kind: RoomEventKind): ReadEvent {
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
    happenedAtMs: readIsoTime(timestamp) ?? 0,
    beganAtMs: null,
    occupants: [],
  };
  return { outcome: 'read', event: { ...event, room: name, roomJid: null, breakoutId: null } };
}

function fromServer(body: z.output<typeof serverEvent>, kind: RoomEventKind): ReadEvent {
  const room = roomNameOf(body.room_name);
  if (room === null) return noName('room_name');
  const [at, began, param] = timesOf(body, kind);
  const happenedAtMs = toMs(at);
  if (happenedAtMs === null) {
    return { outcome: 'invalid', message: 'it is no time, in seconds since the epoch or as ISO 8601', param };
  }
  const occupants = kind === 'joined' || kind === 'left' ? [body.occupant ?? {}] : (body.all_occupants ?? []);
  const event: ReceivedEvent = {
    kind,
    isBreakout: body.is_breakout === true,
    happenedAtMs,
    beganAtMs: toMs(began),
    occupants: occupants.slice(0, MOST_OCCUPANTS).map(occupantOf),
    room,
    roomJid: shortened(body.room_jid),
    breakoutId: shortened(body.breakout_room_id),
  };
  return { outcome: 'read', event };
}

function timesOf(
  { created_at, destroyed_at, occupant: who }: z.output<typeof serverEvent>,
  kind: RoomEventKind,
): readonly [at: SentTime, began: SentTime, param: string] {
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

function occupantOf(sent: z.output<typeof occupant>): Occupant {
  return {
    jid: shortened(sent.occupant_jid),
    id: shortened(sent.id),
    name: shortened(sent.name),
    email: shortened(sent.email),
    joinedAtMs: toMs(sent.joined_at),
    leftAtMs: toMs(sent.left_at),
    talkMs: sent.total_dominant_speaker_time ?? null,
  };
}

function shortened(value: string | number | null | undefined): string | null {
  const cleaned = value == null ? '' : String(value).toWellFormed().replace(/\p{C}/gu, '').trim();
  return cleaned === '' ? null : cleaned.slice(0, LONGEST_TEXT).toWellFormed();
}

/** Null if it is not a valid time. */
function toMs(sent: SentTime): number | null {
  if (sent == null) return null;
  if (typeof sent === 'string') return readIsoTime(sent);
  const ms = Math.round(sent > LARGEST_SECONDS ? sent : sent * 1_000);
  return ms < 0 || ms > LATEST_MS ? null : ms;
}

function noName(param: string): ReadEvent {
  return {
    outcome: 'invalid',
    message: 'a room’s name has at most 300 characters, without control characters',
    param,
  };
}
