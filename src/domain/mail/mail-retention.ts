import type { Clock } from '../../ports/clock.ts';
import type { Database, SqlValue } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';

interface MailRetentionParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

interface PurgedMail {
  readonly givenUp: number;
  readonly forgotten: number;
  readonly deleted: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** Longer than the queue retries: operators have some days to fix the server and redrive. */
export const GIVE_UP_DAYS = 7;
/** How long operators can look up whether a mail was sent to an address. */
export const KEEP_ADDRESS_DAYS = 30;
/** An event older than a year is not reported again. */
export const KEEP_DEDUPE_DAYS = 400;

/** The next run continues with the rest. */
const MOST_CHUNKS = 50;

const GIVE_UP = `update mail_outbox set state = 'FAILED', settled_at = $1, data = '{}', claimed_until = null,
    error = 'it could not be sent in time'
  where id = any (array(
    select id from mail_outbox
    where state = 'WAITING' and (expires_at <= $1 or created_at <= $2) and (claimed_until is null or claimed_until <= $1)
    order by created_at limit ${CHUNK_ROWS} for update skip locked))`;
const FORGET = `update mail_outbox set to_address = null, error = null
  where id = any (array(
    select id from mail_outbox where settled_at <= $1 and dedupe_sha256 is not null and to_address is not null
    order by settled_at limit ${CHUNK_ROWS} for update skip locked))`;
const DELETE = `delete from mail_outbox
  where id = any (array(
    select id from mail_outbox where settled_at <= $2 or (settled_at <= $1 and dedupe_sha256 is null)
    order by settled_at limit ${CHUNK_ROWS} for update skip locked))`;

/**
 * Gives up overdue mails. Removes addresses after a month: rows without a dedupe key are deleted then, the others when
 * the key is no longer needed. Several processes may run it at the same time.
 */
export async function purgeMail({ database, clock, log }: MailRetentionParts): Promise<PurgedMail> {
  const now = clock.now();
  const before = (days: number) => new Date(now - days * DAY_MS);
  const givenUp = await inChunks(database, GIVE_UP, [new Date(now), before(GIVE_UP_DAYS)]);
  const forgotten = await inChunks(database, FORGET, [before(KEEP_ADDRESS_DAYS)]);
  const deleted = await inChunks(database, DELETE, [before(KEEP_ADDRESS_DAYS), before(KEEP_DEDUPE_DAYS)]);
  if (givenUp > 0) log.warn('mails were given up: they could not be sent in time', { mails: givenUp });
  return { givenUp, forgotten, deleted };
}

async function inChunks(database: Database, sql: string, values: readonly SqlValue[]): Promise<number> {
  return (await changeInChunks(database, { sql, values, maxChunks: MOST_CHUNKS })).rows;
}
