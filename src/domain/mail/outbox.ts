import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { id as idField, mailAddress } from './fields.ts';
import { type MailData, type MailKind, readMailData, type StoredMailData } from './templates.ts';

export interface MailOutbox {
  /**
   * The mail is sent if and only if the transaction commits. Invalid mail data never fails the transaction: it gives
   * the outcome `invalid` and a log entry.
   */
  send(mail: MailToSend, within: Transaction): Promise<QueuedMail>;
}

/** One of all types of mail, each with its own data. */
export type MailToSend = { [Kind in MailKind]: MailOf<Kind> }[MailKind];

interface MailOf<Kind extends MailKind> {
  readonly kind: Kind;
  readonly to: string;
  readonly data: MailData<Kind>;
  readonly companyId?: string | null;
  /** Identifies an event that is mailed once, such as `low-balance:COMPANY:THRESHOLD:EPISODE`. */
  readonly dedupeKey?: string;
}

type QueuedMail =
  | { readonly outcome: 'queued'; readonly mailId: string }
  /** A mail with this key is queued, was sent, or failed. */
  | { readonly outcome: 'duplicate' }
  | { readonly outcome: 'invalid'; readonly reason: string };

interface MailOutboxParts {
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The right part of every Message-ID: a domain of the sender. */
  readonly messageIdDomain: string;
}

interface NewMail {
  readonly id: string;
  readonly kind: string;
  readonly companyId: string | null;
  readonly to: string;
  readonly data: StoredMailData;
  readonly dedupeSha256: Uint8Array | null;
  readonly messageId: string;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

const MAX_DEDUPE_CHARACTERS = 1_000;
const DOMAIN =
  /^(?=.{1,190}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

export function createMailOutbox(parts: MailOutboxParts): MailOutbox {
  const { jobQueue, secrets, clock, log, messageIdDomain } = parts;
  if (!DOMAIN.test(messageIdDomain)) {
    throw new TypeError('the domain of the Message-IDs must be letters, digits, dashes and dots');
  }

  function refuse(kind: string, reason: string): QueuedMail {
    log.error('a mail was not written, because what it should say is not right', { kind, reason });
    return { outcome: 'invalid', reason };
  }

  return {
    async send({ kind, to, data, companyId = null, dedupeKey }, within) {
      if (!mailAddress.safeParse(to).success) return refuse(kind, 'the recipient is no mail address');
      if (companyId !== null && !idField.safeParse(companyId).success)
        return refuse(kind, 'no company has such an id');
      if (dedupeKey !== undefined && !isDedupeKey(dedupeKey))
        return refuse(kind, 'the dedupe key is empty or too long');
      const read = readMailData(kind, data);
      if (read.outcome === 'invalid') return refuse(kind, read.reason);
      const mailId = secrets.newId();
      const isNew = await insertMail(within, {
        id: mailId,
        kind,
        companyId,
        to,
        data: read.data,
        dedupeSha256: dedupeKey === undefined ? null : secrets.sha256(dedupeKey),
        messageId: `${mailId}@${messageIdDomain.toLowerCase()}`,
        expiresAt: read.expiresAt,
        createdAt: new Date(clock.now()),
      });
      if (!isNew) return { outcome: 'duplicate' };
      const owner = companyId === null ? {} : { owner: companyId };
      await jobQueue.enqueue(MAIL_QUEUE.name, { mailId }, { within, ...owner });
      return { outcome: 'queued', mailId };
    },
  };
}

function isDedupeKey(key: string): boolean {
  return (
    key.length > 0 && key.length <= MAX_DEDUPE_CHARACTERS && key.isWellFormed() && !key.includes('\u0000')
  );
}

/** False if a mail with the same key exists. If a concurrent transaction is inserting one, waits until that one ends. */
async function insertMail(within: Transaction, mail: NewMail): Promise<boolean> {
  const rows = await within.query(
    `insert into mail_outbox
       (id, kind, company_id, to_address, data, dedupe_sha256, message_id, expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (dedupe_sha256) do nothing
     returning id`,
    [
      mail.id,
      mail.kind,
      mail.companyId,
      mail.to,
      mail.data,
      mail.dedupeSha256,
      mail.messageId,
      mail.expiresAt,
      mail.createdAt,
    ],
  );
  return rows.length === 1;
}

export interface WaitingMail {
  readonly id: string;
  readonly kind: string;
  readonly to: string;
  readonly data: unknown;
  readonly messageId: string;
  readonly attempts: number;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

type ClaimedMail =
  | { readonly outcome: 'claimed'; readonly mail: WaitingMail }
  /** Another worker may be sending it now. */
  | { readonly outcome: 'busy'; readonly until: Date }
  /** Sent, given up, or unknown. */
  | { readonly outcome: 'settled' };

/**
 * Claims a mail for a single worker. The queue also gives a job to one worker at a time, but it considers a worker dead
 * that could not reach the database for a while, and that worker may still be talking to the mail server.
 */
export async function claimMail(
  statements: Statements,
  mailId: string,
  { now, until }: { readonly now: Date; readonly until: Date },
): Promise<ClaimedMail> {
  const [mail] = await statements.query<WaitingMail>(
    `update mail_outbox set attempts = attempts + 1, claimed_until = $3
     where id = $1 and state = 'WAITING' and (claimed_until is null or claimed_until <= $2)
     returning id, kind, to_address as "to", data, message_id as "messageId", attempts,
       expires_at as "expiresAt", created_at as "createdAt"`,
    [mailId, now, until],
  );
  if (mail !== undefined) return { outcome: 'claimed', mail };
  const [row] = await statements.query<{ claimedUntil: Date | null }>(
    `select claimed_until as "claimedUntil" from mail_outbox where id = $1 and state = 'WAITING'`,
    [mailId],
  );
  if (row === undefined) return { outcome: 'settled' };
  // If it was released between the two statements, it can be claimed at once.
  return { outcome: 'busy', until: row.claimedUntil ?? now };
}

/** Releases the claim after a failed attempt. */
export async function releaseMail(statements: Statements, mailId: string, reason: string): Promise<void> {
  await statements.query(
    `update mail_outbox set claimed_until = null, error = $2 where id = $1 and state = 'WAITING'`,
    [mailId, reason.slice(0, 500)],
  );
}

/** The final state of a mail. Its data is deleted with it, because it may contain access tokens. */
export type MailEnding =
  | { readonly state: 'SENT'; readonly reason: null }
  | { readonly state: 'FAILED'; readonly reason: string };

/** False if it already had a final state, which is kept. */
export async function settleMail(
  statements: Statements,
  mailId: string,
  { state, reason }: MailEnding,
  now: Date,
): Promise<boolean> {
  const rows = await statements.query(
    `update mail_outbox set state = $2, error = $3, settled_at = $4, data = '{}', claimed_until = null
     where id = $1 and state = 'WAITING' returning id`,
    [mailId, state, reason?.slice(0, 500) ?? null, now],
  );
  return rows.length === 1;
}

/**
 * Settles waiting mails about meetings that were erased, and removes their data: names of candidates, and what was said. A
 * null `kind` settles all of them. A mail that is being sent arrives.
 */
export async function discardMeetingMails(
  transaction: Transaction,
  meetingIds: readonly string[],
  kind: Extract<MailKind, 'meeting-summary'> | null,
  now: Date,
): Promise<void> {
  await transaction.query(
    `update mail_outbox set state = 'FAILED', error = 'what it is about was erased', settled_at = $3, data = '{}',
       claimed_until = null
     where state = 'WAITING' and data ->> 'meetingId' = any($1::text[]) and ($2::text is null or kind = $2)`,
    [meetingIds, kind, now],
  );
}

const COMPANY_MAILS: readonly MailKind[] = ['scorecard-reminder', 'meeting-summary', 'invitation'];
const ACCOUNT_MAILS: readonly MailKind[] = ['password-reset', 'verify-email'];

/**
 * Settles mails that wait for a person who leaves a company, and removes their data: what was said in its meetings, and
 * tokens, those of the account only if it is closed.
 */
export async function discardMailsOfLeaver(
  transaction: Transaction,
  leaver: { readonly companyId: string; readonly email: string; readonly isClosed: boolean },
  now: Date,
): Promise<void> {
  const { companyId, email, isClosed } = leaver;
  await transaction.query(
    `update mail_outbox set state = 'FAILED', error = 'its receiver has left', settled_at = $3, data = '{}',
       claimed_until = null
     where state = 'WAITING' and to_address = $1
       and (kind = any($4::text[]) and company_id = $2 or kind = any($5::text[]))`,
    [email, companyId, now, [...COMPANY_MAILS], isClosed ? [...ACCOUNT_MAILS] : []],
  );
}

/** The longest that one attempt may take: the sending adapter gets this limit and closes the connection after it. */
export const SEND_WITHIN_MS = 180_000;
/**
 * How long a worker's claim on a mail lasts. Longer than an attempt, so that no second attempt runs at the same time,
 * even if the queue considers the job lost.
 */
export const CLAIM_MS = SEND_WITHIN_MS + 60_000;

/** An unavailable server is retried for about three days: after 30 s, 1 min, 2 min … up to every two hours. */
export const MAIL_QUEUE: QueueDefinition = {
  name: 'mail',
  retries: 40,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 7_200,
  runSeconds: 300,
  heartbeatSeconds: 30,
};
