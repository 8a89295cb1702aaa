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

interface MailWorkerParts {
  readonly database: Database;
  readonly jobQueue: JobQueue;
  readonly mail: Pick<Mail, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: MailSender;
  /** The public address of the console. */
  readonly consoleUrl: string;
  /** The number of mails that this process sends at the same time. */
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
      // Expired links are not stored much longer.
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
 * A mail is WAITING from the commit of the transaction that queued it. A worker claims it, sends it to the server and
 * stores the final state: SENT if the server accepted it, FAILED if the server refused it permanently or the mail has
 * expired. A temporary failure releases the claim and fails the job, which the queue retries. After the last retry the
 * job is a dead letter and the mail stays WAITING: an operator can redrive it until the retention job gives it up.
 *
 * If the process dies after the server accepted the mail and before the state is stored, the mail is sent again with
 * the same Message-ID. Nothing else repeats it: if the database is unavailable the worker retries to store the state,
 * and remembers it in memory; a repeated job finds the state; a second worker finds the claim.
 */
export function createMailHandler(parts: MailWorkerParts): JobHandler {
  const { database, jobQueue, mail, clock, log, sender } = parts;
  const links = createConsoleLinks(parts.consoleUrl);
  /**
   * Final states that are not stored yet. At most one per run: while the database is unavailable, no jobs are fetched.
   */
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
    // Another version of this program may know this type of mail, so it is not given up.
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
      // The message of an unknown error is not passed on: it could contain text of the mail.
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
    // This run succeeds and enqueues another one, so that waiting for the other worker does not use up a retry.
    const again = { startAfter: claimed.until, dedupeKey: `again:${mailId}` };
    await jobQueue.enqueue(MAIL_QUEUE.name, { mailId }, again);
  };
}
