import { createJob } from '../src/domain/jobs/job-changes.ts';
import { createMailOutbox } from '../src/domain/mail/outbox.ts';
import { announceMeeting } from '../src/domain/meetings/announce-meeting.ts';
import { postTranscript } from '../src/domain/meetings/transcript.ts';
import { createTalent } from '../src/domain/talents/talent-changes.ts';
import type { Transaction } from '../src/ports/database.ts';
import { CV_TEXT, POSTING_TEXT } from '../test/ai-service/workers-under-test.ts';
import { MAIL_SAMPLES } from '../test/doubles/mail-samples.ts';
import {
  INTERNAL_TOKEN,
  openWorkerWorld,
  type RunningAiService,
  type WorkerWorld,
} from '../test/system/worker-world.ts';
import type { BenchContext } from './frame/measurement.ts';
import { residentMb } from './frame/resident-memory.ts';

const GENERATOR = '/api/v1/background-tasks/match-score-generator';
const LOOK_EVERY_MS = 10;
const TRANSCRIPT = 'Ada: I will send the exercise by Friday.\nBob: Good, then we decide on Monday.';

export type WorkKind = 'mail' | 'cv' | 'document' | 'meeting';

export interface WorkerBench extends WorkerWorld {
  readonly running: RunningAiService;
  /** Puts so many jobs in line at one commit, and resolves with the milliseconds until the last one has ended. */
  workOff(kind: WorkKind, count: number, signal: AbortSignal): Promise<number>;
  ask(path: string, method?: 'GET' | 'POST'): Promise<Response>;
  residentMb(): number;
}

/**
 * The AI service as one process on this run's servers, with a provider and a mail server that answer at once. Its
 * generator is stopped: it would read every CV that was read, and only the worker is to be measured.
 */
export async function openWorkerBench(context: BenchContext): Promise<WorkerBench> {
  const places = { url: await context.emptyDatabase(), redisUrl: await context.emptyRedis() };
  const world = await openWorkerWorld({ ...places, drop: async () => {} });
  context.whenEnding(world.close);
  const running = await world.start({ LOG_LEVEL: 'warn' });
  context.whenEnding(() => world.kill(running));
  const ask = (path: string, method: 'GET' | 'POST' = 'GET') =>
    fetch(`${running.url}${path}`, { method, headers: { authorization: `Bearer ${INTERNAL_TOKEN}` } });
  await ask(`${GENERATOR}/stop`, 'POST');
  const give = createGiver(world, await addUser(world));
  let given = 0;

  return {
    ...world,
    ...{ running, ask },
    async workOff(kind, count, signal) {
      const { database } = world;
      let begunAt = 0;
      await database.transaction(async (transaction) => {
        for (let n = 0; n < count; n += 1) {
          given += 1;
          await give[kind](transaction, given);
        }
        begunAt = performance.now();
      });
      for (;;) {
        signal.throwIfAborted();
        const left = await database.query(
          `select 1 from pgboss.job where name = $1 and state <= 'active' limit 1`,
          [kind],
        );
        if (left.length === 0) break;
        await Bun.sleep(LOOK_EVERY_MS);
      }
      const tookMs = performance.now() - begunAt;
      const dead = await world.jobQueue.counts(kind);
      if (dead.dead > 0) throw new Error(`${dead.dead} jobs of ${kind} have failed`);
      return tookMs;
    },
    residentMb: () => residentMb(running.pid),
  };
}

type Give = (transaction: Transaction, number: number) => Promise<unknown>;

function createGiver({ parts, companyId }: WorkerWorld, userId: string): Readonly<Record<WorkKind, Give>> {
  const outbox = createMailOutbox({ ...parts, messageIdDomain: 'mail.example' });
  const fileOf = (name: string, text: string) => ({ name, bytes: new TextEncoder().encode(text) });
  return {
    mail: (transaction, number) =>
      outbox.send(
        { kind: 'low-balance', to: `p${number}@x.example`, data: MAIL_SAMPLES['low-balance'] },
        transaction,
      ),
    cv(transaction, number) {
      const text = CV_TEXT.replace('ada.byron@', `ada${number}@`);
      const from = { file: fileOf('cv.txt', `${text}\nNumber ${number}\n`) };
      return createTalent(transaction, parts, { companyId, createdBy: null, from });
    },
    document(transaction, number) {
      const file = fileOf('posting.txt', `${POSTING_TEXT}\nNumber ${number}\n`);
      const wanted = { companyId, createdBy: null, fields: {}, draft: { title: `Untitled ${number}` } };
      return createJob(transaction, parts, { ...wanted, file });
    },
    async meeting(transaction, number) {
      const plan = { startsAt: null, plannedMinutes: null, jobId: null, talentId: null };
      const wanted = { room: `bench-${number}`, companyId, createdBy: userId, ...plan };
      const announced = await announceMeeting(transaction, parts, wanted);
      if (announced.outcome !== 'announced') throw new Error(`a meeting was ${announced.outcome}`);
      const transcript = {
        meetingId: announced.meeting.id,
        kind: 'transcript' as const,
        text: `${TRANSCRIPT}\nBob: ${number}.`,
      };
      return await postTranscript(transaction, parts, transcript);
    },
  };
}

async function addUser({ database, secrets, companyId }: WorkerWorld): Promise<string> {
  const id = secrets.newId();
  await database.query(
    `insert into users (id, company_id, email, password_hash, role) values ($1, $2, 'p@acme.example', 'x', 'MEMBER')`,
    [id, companyId],
  );
  return id;
}
