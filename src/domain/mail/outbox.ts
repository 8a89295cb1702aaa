import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { id as idField, mailAddress } from './fields.ts';
import { MAIL_QUEUE } from './queues.ts';
import { type KeptData, type MailData, type MailKind, readMailData } from './templates.ts';

export interface MailOutbox {
  /**
   * The mail is sent if and only if the transaction commits. Nothing here fails a transaction for what the mail
   * says: a mail that cannot be is an outcome and an entry in the log.
   */
  send(mail: MailToSend, within: Transaction): Promise<QueuedMail>;
}

/** One of every kind, each with the data of that kind. */
export type MailToSend = { [Kind in MailKind]: MailOf<Kind> }[MailKind];

interface MailOf<Kind extends MailKind> {
  readonly kind: Kind;
  readonly to: string;
  readonly data: MailData<Kind>;
  readonly companyId?: string | null;
  /** A fact that is told once, as `low-balance:COMPANY:THRESHOLD:EPISODE`. */
  readonly dedupeKey?: string;
}

export type QueuedMail =
  | { readonly outcome: 'queued'; readonly mailId: string }
  /** A mail of this key is on its way, was sent, or could not be. */
  | { readonly outcome: 'duplicate' }
  | { readonly outcome: 'invalid'; readonly reason: string };

export interface MailOutboxParts {
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The right half of every Message-ID: a domain of whoever sends. */
  readonly messageIdDomain: string;
}

interface NewMail {
  readonly id: string;
  readonly kind: string;
  readonly companyId: string | null;
  readonly to: string;
  readonly data: KeptData;
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
      await jobQueue.enqueue(MAIL_QUEUE.name, { mailId }, { within });
      return { outcome: 'queued', mailId };
    },
  };
}

function isDedupeKey(key: string): boolean {
  return (
    key.length > 0 && key.length <= MAX_DEDUPE_CHARACTERS && key.isWellFormed() && !key.includes('\u0000')
  );
}

/** False where a mail of the same key is there, or is being written: then it waits for that one to be certain. */
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
