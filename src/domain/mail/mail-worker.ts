import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Job, JobHandler, JobQueue, QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Mail, MailOutcome, MailSender } from '../../ports/mail.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import { createConsoleLinks, renderMail } from './content.ts';
import { purgeMail } from './mail-retention.ts';
import {
  CLAIM_MS,
  claimMail,
  MAIL_QUEUE,
  type MailEnding,
  releaseMail,
  settleMail,
  type WaitingMail,
} from './outbox.ts';
import { writeMail } from './templates.ts';

export interface MailWorkerParts {
  readonly database: Database;
  readonly jobQueue: JobQueue;
  readonly mail: Pick<Mail, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: MailSender;
  /** Where the console is reached from outside. */
  readonly consoleUrl: string;
  /** Mails at once in this process. */
  readonly concurrency?: number;
}

const MAIL_RETENTION_QUEUE = retentionQueue('mail-retention', { runSeconds: 120, heartbeatSeconds: 30 });

export const MAIL_QUEUES: readonly QueueDefinition[] = [MAIL_QUEUE, MAIL_RETENTION_QUEUE];

export function mailWork(parts: MailWorkerParts): readonly QueueWork[] {
  return [
    {
      queue: MAIL_QUEUE,
      reportedAs: 'email_worker',
      concurrency: parts.concurrency ?? 4,
      perOwner: 2,
      handler: createMailHandler(parts),
    },
    {
      queue: MAIL_RETENTION_QUEUE,
      concurrency: 1,
      // Links that have expired are not stored much longer.
      cron: '*/15 * * * *',
      handler: async () => void (await purgeMail(parts)),
    },
  ];
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
const HEADERS = { 'Auto-Submitted': 'auto-generated' };

/**
 * The handler of MAIL_QUEUE.
 *
 * A mail is WAITING from the commit of the transaction that sends it. A worker claims it, hands it to the server and
 * writes down the end: SENT where the server accepted, FAILED where it refused for good or the mail has expired. A try
 * that failed for now gives the claim back and fails the job, which the queue runs again later; past the last run the
 * job is a dead letter and the mail stays WAITING, to be sent when an operator redrives it, until the retention job gives it up.
 *
 * Between the server's acceptance and the mark the process may die: then the mail is sent again, under the same
 * Message-ID. Nothing else repeats it. A database that is unavailable at the mark is waited for, and this process remembers
 * what was accepted; a job that comes again finds the mark; a second worker finds the claim.
 */
export function createMailHandler(parts: MailWorkerParts): JobHandler {
  const { database, jobQueue, mail, clock, log, sender } = parts;
  const links = createConsoleLinks(parts.consoleUrl);
  /** Ends that are not written down yet. No more of them than runs: while one cannot be written, no job comes. */
  const unwritten = new Map<string, MailEnding>();
  const now = () => new Date(clock.now());

  async function settle(mailId: string, ending: MailEnding, signal: AbortSignal): Promise<void> {
    unwritten.set(mailId, ending);
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        await settleMail(database, mailId, ending, now());
        unwritten.delete(mailId);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        log.warn('the end of a mail cannot be written down yet', { mailId, state: ending.state, error });
        await clock.sleep(waitMs, signal);
      }
    }
  }

  async function sendWritten(waiting: WaitingMail): Promise<MailOutcome> {
    const written = writeMail(waiting.kind, waiting.data, links);
    // Another version of this program may know the kind: it is not given up for that.
    if (written.outcome === 'invalid') return { outcome: 'failed', reason: written.reason };
    const { messageId, to, createdAt: date } = waiting;
    const rendered = renderMail(written.content, sender.name);
    return await mail.send({ messageId, from: sender, to, date, headers: HEADERS, ...rendered });
  }

  async function trySending(waiting: WaitingMail): Promise<MailOutcome> {
    const { expiresAt } = waiting;
    if (expiresAt !== null && expiresAt.getTime() <= clock.now()) {
      return { outcome: 'refused', reason: 'it expired before it could be sent' };
    }
    try {
      return await sendWritten(waiting);
    } catch (error) {
      // What such an error says is not known, so it is not passed on: it could hold what the mail says.
      return {
        outcome: 'failed',
        reason: `unforeseen: ${error instanceof Error ? error.name : typeof error}`,
      };
    }
  }

  async function work(waiting: WaitingMail, signal: AbortSignal): Promise<void> {
    const { id: mailId, kind, attempts } = waiting;
    const sent = await trySending(waiting);
    if (sent.outcome === 'accepted') {
      await settle(mailId, { state: 'SENT', reason: null }, signal);
      log.info('a mail was sent', { mailId, kind, attempts });
    } else if (sent.outcome === 'refused') {
      log.warn('a mail was given up', { mailId, kind, attempts, reason: sent.reason });
      await settle(mailId, { state: 'FAILED', reason: sent.reason }, signal);
    } else {
      await releaseMail(database, mailId, sent.reason);
      throw new Error(`mail ${mailId} was not accepted: ${sent.reason}`);
    }
  }

  return async ({ data, signal }: Job) => {
    const mailId = String(data.mailId);
    const remembered = unwritten.get(mailId);
    if (remembered !== undefined) return await settle(mailId, remembered, signal);
    signal.throwIfAborted();
    const claimed = await claimMail(database, mailId, {
      now: now(),
      until: new Date(clock.now() + CLAIM_MS),
    });
    if (claimed.outcome === 'claimed') return await work(claimed.mail, signal);
    if (claimed.outcome === 'settled') return;
    // This run ends well and another one is put in its place: waiting for the other worker costs no try.
    const again = { startAfter: claimed.until, dedupeKey: `again:${mailId}` };
    await jobQueue.enqueue(MAIL_QUEUE.name, { mailId }, again);
  };
}
