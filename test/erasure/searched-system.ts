import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createLog } from '../../src/adapters/log/structured-log.ts';
import { openCapturedMail } from '../../src/adapters/mail/captured.ts';
import { addRoomEvents } from '../../src/ai-service/room-events.ts';
import { createCvWorker } from '../../src/ai-service/workers/document-workers.ts';
import type { ParsedText } from '../../src/domain/documents/document-engine.ts';
import { DOCUMENT_QUEUE } from '../../src/domain/jobs/job-changes.ts';
import { createLiveLog } from '../../src/domain/logs/live-log.ts';
import { createStoredLog } from '../../src/domain/logs/log-store.ts';
import { createMailHandler, MAIL_QUEUES } from '../../src/domain/mail/mail-worker.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import { MEETING_QUEUE } from '../../src/domain/meetings/meeting.ts';
import { createMeetingHandler } from '../../src/domain/meetings/process-meeting.ts';
import { CV_QUEUE } from '../../src/domain/talents/talent-changes.ts';
import { createServiceApp } from '../../src/http/service-app.ts';
import type { JobHandler } from '../../src/ports/job-queue.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { openTestDatabase } from '../doubles/test-database.ts';
import { openMatchingWorld } from '../matching/matching-world.ts';

const SENDER = { name: 'Turnpike', address: 'no-reply@mail.example' };
const NO_ANSWER = { answer: null, charge: async () => {}, release: async () => {} };

/** A CV as the reader and the engine give it. */
export interface ScriptedCv {
  readonly text: string;
  readonly parsed: ParsedText;
}

/**
 * The backend with its real job queue, outbox, stored log, captured mail and match score generator, each of which writes where
 * it does in production, so that a search finds what they leave. Only documents and models are scripted.
 */
export async function openSearchedSystem(sharedState: SharedState | null) {
  const database = await openTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-erasure-'));
  const clock = createManualClock();
  const logClock = createManualClock();
  const stored = createStoredLog({
    ...{ database, clock: logClock, keepRows: 10_000, keepMs: 86_400_000 },
    onTrouble: ({ error }) => {
      throw error;
    },
  });
  const log = createLog({ clock: logClock, level: 'info', sinks: [stored] });
  if (sharedState !== null) log.addSink(createLiveLog({ sharedState, clock: logClock }));
  const jobQueue = await openJobQueue({ database, log });
  for (const queue of [CV_QUEUE, DOCUMENT_QUEUE, MEETING_QUEUE, ...MAIL_QUEUES]) await jobQueue.define(queue);
  const backend = await openBackend({
    ...{ database, log, jobQueue, clock },
    ...(sharedState === null ? {} : { sharedState }),
    mailOutbox: { send: async (mail, within) => await outbox.send(mail, within) },
  });
  const { secrets } = backend.parts;
  const parts = { database, clock, log, secrets, jobQueue };
  const outbox = createMailOutbox({ ...parts, messageIdDomain: 'mail.example' });
  const mail = await openCapturedMail({ folder: join(folder, 'mail'), clock });
  const cvs = new Map<string, ScriptedCv>();
  const handlers: Readonly<Record<string, JobHandler>> = {
    cv: createCvWorker({ ...parts, reading: { read: async ({ bytes }) => readScripted(cvs, bytes) } }),
    meeting: createMeetingHandler({
      ...parts,
      model: { ask: async () => NO_ANSWER },
      remind: async (reminder, within) =>
        void (await outbox.send({ kind: 'scorecard-reminder', ...reminder }, within)),
    }),
    mail: createMailHandler({ ...parts, mail, sender: SENDER, consoleUrl: 'https://console.example' }),
  };
  const rooms = createServiceApp({ ...parts, maxBodyBytes: 4_000_000, answerTimeoutMs: null });
  addRoomEvents(rooms, parts);
  const { signal } = new AbortController();

  return {
    ...{ backend, clock, log, database, folder, cvs },
    matching: await openMatchingWorld(database, { clock, log }),
    /** As a worker of this queue runs one job. */
    async run(queue: 'cv' | 'meeting' | 'mail', data: Record<string, string>): Promise<void> {
      await handlers[queue]?.({ id: secrets.newId(), data, attempt: 1, signal });
    },
    /** As the meeting server reports it. */
    async report(path: string, body: object): Promise<void> {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await rooms.request(`/api/events/${path}`, init);
      if (response.status !== 202) throw new Error(await response.text());
    },
    async waitingMails(): Promise<readonly { readonly id: string; readonly kind: string }[]> {
      return await database.query(`select id, kind from mail_outbox where state = 'WAITING' order by id`);
    },
    flushLog: () => stored.flush(),
    async close(): Promise<void> {
      await jobQueue.stop(0);
      await stored.close();
      await mail.close(0);
      await backend.close();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

export type SearchedSystem = Awaited<ReturnType<typeof openSearchedSystem>>;

async function readScripted(cvs: ReadonlyMap<string, ScriptedCv>, bytes: Uint8Array) {
  const cv = cvs.get(new TextDecoder().decode(bytes));
  if (cv === undefined) throw new Error('no such CV');
  const paid = { charge: async () => {}, release: async () => {} };
  return { outcome: 'read', ...cv, engine: 'embedded', ...paid } as const;
}
