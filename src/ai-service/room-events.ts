import type { Context } from 'hono';
import { z } from 'zod';
import { postTranscript } from '../domain/meetings/post-transcript.ts';
import { receiveEvent } from '../domain/meetings/receive-event.ts';
import type { RoomEventKind } from '../domain/meetings/room-event.ts';
import { LONGEST_TRANSCRIPT } from '../domain/meetings/transcript.ts';
import { envelopeResponse, errorEnvelope } from '../http/error-envelope.ts';
import { readBody } from '../http/read-body.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Secrets } from '../ports/secrets.ts';
import { readEvent } from './room-events-body.ts';

export interface RoomEventParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** A thousand people in a room are 300 KB. */
const MOST_EVENT_BYTES = 1024 * 1024;
const MOST_TRANSCRIPT_BYTES = 4 * LONGEST_TRANSCRIPT;
const BODY_TIMEOUT_MS = 10_000;

export const transcriptBody = z.strictObject({ text: z.string().min(1).max(LONGEST_TRANSCRIPT) });
/** 202 of every event: the meeting that it belongs to, which it may have made. */
export const eventAnswer = z.strictObject({ meeting_id: z.uuid(), repeated: z.boolean() });
export const transcriptAnswer = z.strictObject({ meeting_id: z.uuid() });

/**
 * All of it is internal: the caller has put the guard in front. The meeting server sends an event again after a
 * 5xx and drops it after a 4xx, so that what can never be right is a 4xx and nothing else is.
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

async function takeEvent(context: Context, parts: RoomEventParts, kind: RoomEventKind): Promise<Response> {
  const body = await jsonOf(context.req.raw, parts.clock, MOST_EVENT_BYTES);
  if (body instanceof Response) return body;
  const read = readEvent(body.value, kind);
  if (read.outcome !== 'read') {
    return refuse(read.outcome === 'wrong-event' ? 422 : 400, read.message, read.param);
  }
  const received = await receiveEvent(parts, read.event);
  if (received.outcome === 'far-off') return refuse(422, received.message, null);
  const answer: z.output<typeof eventAnswer> = {
    meeting_id: received.meetingId,
    repeated: !received.isNew,
  };
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
  const { text } = read.data;
  const posted = await parts.database.transaction((transaction) =>
    postTranscript(transaction, parts, { meetingId: id.data, text }),
  );
  switch (posted.outcome) {
    case 'unknown':
      return refuse(404, 'There is no such meeting.', 'id');
    case 'unannounced':
      return refuse(
        409,
        'Nobody has announced the room of this meeting: announce it by createMeeting first.',
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
    // No 408 and no 400: what did not arrive may be right, and is to be sent again.
    case 'too-slow':
      return refuse(503, 'The body did not come in time: send it again.', null);
    case 'broken':
      return refuse(503, 'The body broke off: send it again.', null);
    case 'read':
  }
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(read.bytes)) };
  } catch {
    return refuse(400, 'The body is not JSON.', null);
  }
}

function refuse(status: number, message: string, param: string | null): Response {
  const asked = status === 404 ? 'not_found_error' : 'invalid_request_error';
  const type = status >= 500 ? 'api_error' : asked;
  return envelopeResponse(status, errorEnvelope(type, message, null, param));
}
