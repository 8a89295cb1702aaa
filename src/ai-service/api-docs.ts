import type { DocsFiles } from '../http/docs-page.ts';
import { createDocs, DOCS_PATHS } from '../http/docs-page.ts';
import { type DescribedRoute, errorAnswer, openApiDocument } from '../http/openapi.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { describedHealth } from './api-docs-health.ts';
import { describedGenerator, describedMonitoring } from './api-docs-monitoring.ts';
import { eventAnswer, transcriptAnswer, transcriptBody } from './room-events.ts';
import { roomEvent } from './room-events-body.ts';

const MEETING = '019a6f0e-0000-7000-8000-000000000001';
const PLAIN = { room: 'interview-42', timestamp: '2026-11-15T09:00:00Z' };
const SERVER = {
  room_name: 'interview-42',
  room_jid: 'interview-42@conference.meet.example',
  is_breakout: false,
};
const NOT_ARRIVED = 'The body did not arrive whole or in time: send it again.';
const SECONDS = 1_794_733_200;
const WHO = { name: 'Ada', email: 'ada@acme.example', id: 'u1', occupant_jid: 'ada@meet.example/1' };

const events: readonly DescribedRoute[] = [
  describedEvent('/api/events/room/created', 'A room was made.', { event: 'room_created', ...PLAIN }),
  describedEvent('/api/events/room/destroyed', 'A room is gone.', { event: 'room_destroyed', ...PLAIN }),
  describedEvent('/api/events/occupant/joined', 'Somebody came.', {
    ...{ event_name: 'muc-occupant-joined', ...SERVER },
    occupant: { ...WHO, joined_at: SECONDS },
  }),
  describedEvent('/api/events/occupant/left', 'Somebody left.', {
    ...{ event_name: 'muc-occupant-left', ...SERVER },
    occupant: { ...WHO, joined_at: SECONDS, left_at: SECONDS + 600 },
  }),
  {
    method: 'post',
    path: '/api/meetings/{id}/transcript',
    summary: 'What was said in a meeting. Its summary comes with the insight.',
    needsToken: true,
    body: { schema: transcriptBody, example: { text: 'Ada: I will send the exercise by Friday.' } },
    answers: [
      { status: 202, means: 'Taken.', schema: transcriptAnswer, example: { meeting_id: MEETING } },
      { status: 400, means: 'No JSON, or not as it should be.', schema: errorAnswer },
      { status: 404, means: 'There is no such meeting.', schema: errorAnswer },
      { status: 409, means: 'Nobody has announced its room.', schema: errorAnswer },
      { status: 413, means: 'The body is too large.', schema: errorAnswer },
      { status: 422, means: 'Nobody says anything in it.', schema: errorAnswer },
      { status: 503, means: NOT_ARRIVED, schema: errorAnswer },
    ],
  },
];

function describedEvent(path: string, summary: string, example: unknown): DescribedRoute {
  const answer = { meeting_id: MEETING, repeated: false };
  return {
    method: 'post',
    path,
    summary: `${summary} The documented object, or what Jitsi's event_sync sends.`,
    needsToken: true,
    body: { schema: roomEvent, example },
    answers: [
      { status: 202, means: 'Written down; the work is queued.', schema: eventAnswer, example: answer },
      { status: 400, means: 'No JSON, or not as it should be.', schema: errorAnswer },
      { status: 413, means: 'The body is larger than 1 MiB.', schema: errorAnswer },
      { status: 422, means: 'Another route’s event, or a time that is far off.', schema: errorAnswer },
      { status: 503, means: NOT_ARRIVED, schema: errorAnswer },
    ],
  };
}

/** every route of the service but the documentation itself. */
export const AI_SERVICE_ROUTES: readonly DescribedRoute[] = [
  ...describedHealth,
  ...events,
  ...describedMonitoring,
  ...describedGenerator,
];

export function aiServiceDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Turnpike AI service',
    description: 'Background work, meeting rooms, health and monitoring.',
    token: 'The internal token: the INTERNAL_TOKEN setting, or internal_token in demo.json.',
    routes: AI_SERVICE_ROUTES,
  });
}

export function addApiDocs(app: ServiceApp, files: DocsFiles): void {
  const docs = createDocs({ title: 'Turnpike AI service', document: aiServiceDocument(), files });
  for (const path of DOCS_PATHS) app.get(path, (context) => docs(path) ?? context.notFound());
}
