import type { Statements } from '../../ports/database.ts';

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

export type ClaimedMail =
  | { readonly outcome: 'claimed'; readonly mail: WaitingMail }
  /** Another worker may be sending it at this moment. */
  | { readonly outcome: 'busy'; readonly until: Date }
  /** Sent, given up, or never there. */
  | { readonly outcome: 'settled' };

/**
 * Takes a mail for one worker alone. The queue gives a job to one worker at a time too, but it takes a worker for dead
 * that could not reach the database for a while, and such a one may still be talking to the mail server.
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
  // Given back between the two statements: it can be taken at once.
  return { outcome: 'busy', until: row.claimedUntil ?? now };
}

/** Gives it back after a try that failed. */
export async function releaseMail(statements: Statements, mailId: string, reason: string): Promise<void> {
  await statements.query(
    `update mail_outbox set claimed_until = null, error = $2 where id = $1 and state = 'WAITING'`,
    [mailId, reason.slice(0, 500)],
  );
}

/** The end of a mail. Its data goes at this moment: what it opens is nobody's business any more. */
export type MailEnding =
  | { readonly state: 'SENT'; readonly reason: null }
  | { readonly state: 'FAILED'; readonly reason: string };

/** False where it had ended already; the first end stays. */
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
