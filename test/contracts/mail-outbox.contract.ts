import { describe, expect, test } from 'bun:test';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createMailHandler, MAIL_QUEUES, mailWork } from '../../src/domain/mail/mail-worker.ts';
import { createMailOutbox, type MailToSend } from '../../src/domain/mail/outbox.ts';
import type { Database } from '../../src/ports/database.ts';
import type { Job } from '../../src/ports/job-queue.ts';
import { MAIL_KINDS, MAIL_SAMPLES, sampleMail } from '../doubles/mail-samples.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createScriptedMail } from '../doubles/scripted-mail.ts';
import { startWork } from '../doubles/start-work.ts';
import { until } from '../doubles/until.ts';

const SENDER = { name: 'Turnpike', address: 'no-reply@mail.example' };
export const CONSOLE_URL = 'https://console.example';

interface OutboxRow {
  readonly id: string;
  readonly state: string;
  readonly data: unknown;
  readonly attempts: number;
  readonly error: string | null;
  readonly messageId: string;
}

/** An outbox on the real queue, a worker whose runs the test starts itself, and a scripted mail server. */
export async function openMailUnderTest(database: Database, startMs = Date.UTC(2030, 0, 1)) {
  const clock = createManualClock(startMs);
  const { log, entries } = createRecordingLog();
  const jobQueue = await openJobQueue({ database, log });
  for (const queue of MAIL_QUEUES) await jobQueue.define(queue);
  const secrets = createSystemSecrets();
  const outbox = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'Mail.example' });
  const mail = createScriptedMail();
  const workerParts = { database, jobQueue, mail, clock, log, sender: SENDER, consoleUrl: CONSOLE_URL };

  async function send(wanted: MailToSend): Promise<string> {
    const queued = await database.transaction((within) => outbox.send(wanted, within));
    if (queued.outcome !== 'queued') throw new Error(JSON.stringify(queued));
    return queued.mailId;
  }

  async function row(mailId: string): Promise<OutboxRow | null> {
    const [found] = await database.query<OutboxRow>(
      `select id, state, data, attempts, error, message_id as "messageId" from mail_outbox where id = $1`,
      [mailId],
    );
    return found ?? null;
  }

  return {
    ...{ database, clock, log, entries, jobQueue, secrets, outbox, mail, workerParts, send, row },
    newWorker(changes: Partial<typeof workerParts> = {}) {
      const parts = { ...workerParts, ...changes };
      return { handle: createMailHandler(parts), start: () => startWork(jobQueue, mailWork(parts)) };
    },
    job: (mailId: string, signal = new AbortController().signal): Job => ({
      id: mailId,
      data: { mailId },
      attempt: 1,
      signal,
    }),
    close: () => jobQueue.stop(0),
  };
}

/** That a mail exists if and only if its transaction commits, and is sent, on one engine. */
export function mailOutboxContract(engine: string, given: () => Database): void {
  const open = async () => {
    await given()
      .script('truncate mail_outbox; delete from pgboss.job')
      .catch(() => {});
    return await openMailUnderTest(given());
  };
  const rows = async (database: Database) =>
    Number((await database.query<{ n: bigint }>('select count(*) as n from mail_outbox'))[0]?.n);

  describe(`the mail outbox on ${engine}`, () => {
    test('A-13 a mail and its job exist if and only if the transaction commits', async () => {
      const { database, outbox, jobQueue, close } = await open();
      const rolledBack = await database
        .transaction(async (within) => {
          await outbox.send(sampleMail('receipt'), within);
          throw new Error('rolled back');
        })
        .catch((error: Error) => error.message);
      expect(rolledBack).toBe('rolled back');
      expect({ rows: await rows(database), ...(await jobQueue.counts('mail')) }).toMatchObject({
        rows: 0,
        waiting: 0,
      });
      await database.transaction(async (within) => void (await outbox.send(sampleMail('receipt'), within)));
      expect({ rows: await rows(database), ...(await jobQueue.counts('mail')) }).toMatchObject({
        rows: 1,
        waiting: 1,
      });
      await close();
    });

    test('A-13 every kind goes through the queue and is sent once, with a Message-ID from its row', async () => {
      const { newWorker, send, row, mail, close } = await open();
      const ids = new Map<string, string>();
      for (const kind of MAIL_KINDS) ids.set(kind, await send(sampleMail(kind)));
      const [sending] = await newWorker().start();
      await until(async () => {
        const states = await Promise.all([...ids.values()].map(async (id) => (await row(id))?.state));
        return states.every((state) => state === 'SENT');
      });
      expect(mail.sent.map(({ messageId }) => messageId).sort()).toEqual(
        [...ids.values()].map((id) => `${id}@mail.example`).sort(),
      );
      await until(() => sending?.status().active === 0);
      await close();
    });

    test('a second mail with the same dedupe key is ignored, also when concurrent', async () => {
      const { database, outbox, jobQueue, close } = await open();
      const mail = sampleMail('low-balance', { dedupeKey: 'low-balance:acme:10:1' });
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => database.transaction((within) => outbox.send(mail, within))),
      );
      expect(outcomes.filter(({ outcome }) => outcome === 'queued')).toHaveLength(1);
      expect(outcomes.filter(({ outcome }) => outcome === 'duplicate')).toHaveLength(7);
      expect(await jobQueue.counts('mail')).toMatchObject({ waiting: 1 });
      await close();
    });

    test('the token of a link is in the outbox until the mail is sent, in no job and in no log', async () => {
      const { database, newWorker, send, row, entries, mail, close } = await open();
      const { token } = MAIL_SAMPLES['password-reset'];
      const mailId = await send(sampleMail('password-reset'));
      expect(JSON.stringify(await row(mailId))).toContain(token);
      await newWorker().start();
      await until(async () => (await row(mailId))?.state === 'SENT');
      expect(mail.sent[0]?.text).toContain(token);
      expect((await row(mailId))?.data).toEqual({});
      const jobs = await database.query('select data, output from pgboss.job');
      expect(JSON.stringify([jobs, entries, await row(mailId)])).not.toContain(token);
      await close();
    });
  });
}
