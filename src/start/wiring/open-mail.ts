import { join } from 'node:path';
import { openCapturedMail } from '../../adapters/mail/captured.ts';
import { createSmtpMail } from '../../adapters/mail/smtp.ts';
import { readServerAddress } from '../../adapters/mail/smtp-session.ts';
import { createMailOutbox, type MailOutbox, SEND_WITHIN_MS } from '../../domain/mail/outbox.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { CapturedMail, Mail } from '../../ports/mail.ts';
import { StartProblem } from '../processes/lifecycle.ts';
import type { Parts } from './connect.ts';

/** Accepts mails within the caller's transactions; the mail worker sends them. */
export function mailOutbox({ configuration, secrets, clock, log }: Parts, jobQueue: JobQueue): MailOutbox {
  const { from } = configuration.mail;
  const messageIdDomain = from.slice(from.lastIndexOf('@') + 1);
  return createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain });
}

/** The mail server, or a folder in DATA_DIR if none is configured. */
export async function openMail({ configuration, clock }: Parts): Promise<Mail> {
  const { smtpUrl } = configuration.mail;
  if (smtpUrl === null) return await openMailFolder({ configuration, clock });
  const address = readServerAddress(smtpUrl);
  if (address.outcome === 'invalid') throw new StartProblem(`SMTP_URL ${address.reason}`);
  return createSmtpMail({ server: address.server, sendTimeoutMs: SEND_WITHIN_MS });
}

export async function openMailFolder({
  configuration,
  clock,
}: Pick<Parts, 'configuration' | 'clock'>): Promise<Mail & CapturedMail> {
  return await openCapturedMail({ folder: join(configuration.dataDir, 'mail'), clock });
}
