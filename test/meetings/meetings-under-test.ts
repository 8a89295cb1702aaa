import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addRoomEvents } from '../../src/ai-service/room-events.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { announceMeeting } from '../../src/domain/meetings/announce-meeting.ts';
import type { MeetingInsight } from '../../src/domain/meetings/insight.ts';
import { MEETING_COLUMNS, type Meeting } from '../../src/domain/meetings/meeting.ts';
import {
  createMeetingHandler,
  type MeetingModel,
  type ScorecardMail,
} from '../../src/domain/meetings/process-meeting.ts';
import { createMeetingRetentionHandler } from '../../src/domain/meetings/rooms.ts';
import { internalAccess } from '../../src/http/client-identity.ts';
import { createServiceApp } from '../../src/http/service-app.ts';
import type { Database } from '../../src/ports/database.ts';
import type { EnqueueOptions, JobData } from '../../src/ports/job-queue.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { noteExchange } from '../setup/recent.ts';

export const TOKEN = 'an-internal-token-of-some-length';
/** The manual clock's first moment, in seconds. */
export const T0 = Date.UTC(2030, 0, 1) / 1_000;

/** The routes and the handlers of meetings on a database, with a queue that the test works off. */
export async function openMeetings(database: Database, model?: MeetingModel) {
  const clock = createManualClock();
  const secrets = createSystemSecrets();
  const { log } = createRecordingLog();
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const userId = secrets.newId();
  await database.query(
    `insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'x', 'MEMBER')`,
    [userId, companyId, `p${userId}@acme.example`],
  );
  const waiting: { data: JobData; dueMs: number }[] = [];
  const mails = new Map<string, ScorecardMail>();
  const jobQueue = {
    async enqueue(_queue: string, data: JobData, options: EnqueueOptions = {}) {
      waiting.push({ data, dueMs: options.startAfter?.getTime() ?? 0 });
      return 'job';
    },
  };
  const noAnswer = { answer: null, charge: async () => {}, release: async () => {} };
  const handler = createMeetingHandler({
    ...{ database, clock, log, jobQueue },
    model: model ?? { ask: async () => noAnswer },
    remind: async (mail) => void mails.set(mail.dedupeKey, mail),
  });
  const parts = { database, clock, log, secrets, jobQueue };
  const retention = createMeetingRetentionHandler(parts);
  const app = createServiceApp({ ...parts, maxBodyBytes: 4_000_000, answerTimeoutMs: null });
  app.use('/api/*', internalAccess([TOKEN]));
  addRoomEvents(app, parts);
  const { signal } = new AbortController();

  return {
    ...{ clock, secrets, companyId, userId, mails, database, waiting, jobQueue },
    async post(path: string, body: unknown, token = TOKEN) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: text };
      const response = await noteExchange(`POST ${path} ${text}`, app.request(`/api/${path}`, init));
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    async announce(
      room: string,
      wanted: Partial<Pick<Meeting, 'startsAt' | 'plannedMinutes' | 'jobId' | 'talentId'>> = {},
      company = companyId,
    ) {
      const plan = { startsAt: null, plannedMinutes: null, jobId: null, talentId: null, ...wanted };
      return await database.transaction((transaction) =>
        announceMeeting(transaction, parts, { room, companyId: company, createdBy: userId, ...plan }),
      );
    },
    /** Everything that is due. */
    async workOff() {
      for (;;) {
        const at = waiting.findIndex(({ dueMs }) => dueMs <= clock.now());
        const [job] = at === -1 ? [] : waiting.splice(at, 1);
        if (job === undefined) return;
        await handler({ id: 'job-1', data: job.data, attempt: 1, signal });
      }
    },
    retention: () => retention({ id: 'job-2', data: {}, attempt: 1, signal }),
    async meetings(room: string) {
      return await database.query<Meeting & { insight: MeetingInsight | null }>(
        `select ${MEETING_COLUMNS} from meetings where room = $1 order by coalesce(started_at, starts_at), id`,
        [room],
      );
    },
  };
}

export type MeetingsUnderTest = Awaited<ReturnType<typeof openMeetings>>;

export function plain(event: 'room_created' | 'room_destroyed', room: string, atSeconds: number) {
  return { event, room, timestamp: new Date(atSeconds * 1_000).toISOString() };
}

export const ADA = { name: 'Ada', email: 'ada@acme.example', id: 'u1', occupant_jid: 'ada@x/1' };
export const BOB = { name: 'Bob', email: 'bob@else.example', id: 'u2', occupant_jid: 'bob@x/2' };

/** What Jitsi sends of one meeting, with a breakout room in it. */
export function serverEvents(room: string, from: number, until: number) {
  const place = { room_name: room, room_jid: `${room}@conference.meet`, is_breakout: false };
  const breakout = { ...place, room_jid: 'b1@breakout.meet', is_breakout: true, breakout_room_id: 'b1' };
  const [ada, bob] = [
    { ...ADA, joined_at: from },
    { ...BOB, joined_at: from + 120 },
  ];
  const adaLeft = { ...ada, left_at: until, total_dominant_speaker_time: 30_000 };
  const bobLeft = { ...bob, left_at: until - 60, total_dominant_speaker_time: 90_000 };
  return [
    { path: 'events/room/created', body: { event_name: 'muc-room-created', ...place, created_at: from } },
    { path: 'events/occupant/joined', body: { event_name: 'muc-occupant-joined', ...place, occupant: ada } },
    { path: 'events/occupant/joined', body: { event_name: 'muc-occupant-joined', ...place, occupant: bob } },
    {
      path: 'events/room/destroyed',
      body: {
        event_name: 'muc-room-destroyed',
        ...breakout,
        created_at: from + 200,
        destroyed_at: from + 400,
        all_occupants: [{ ...bob, joined_at: from + 200, left_at: from + 400 }],
      },
    },
    {
      path: 'events/occupant/left',
      body: { event_name: 'muc-occupant-left', ...place, occupant: bobLeft },
    },
    {
      path: 'events/room/destroyed',
      body: {
        event_name: 'muc-room-destroyed',
        ...place,
        created_at: from,
        destroyed_at: until,
        all_occupants: [adaLeft, bobLeft],
      },
    },
  ];
}
