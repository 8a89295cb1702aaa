import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { JobHandler, JobQueue, QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { Webhook, WebhookAnswer, WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import { findCompany } from '../accounts/company.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import { type AlertPayload, slackBody, TEST_EVENT, testPayload } from './alert-events.ts';
import { type AlertChannel, type AlertChannelKind, type ChannelCipher, openChannel } from './channels.ts';
import { ALERT_DELIVERY_QUEUE, addDelivery, type DispatchParts, mailTo } from './dispatch.ts';

export interface AlertDelivery {
  readonly id: string;
  readonly channelId: string;
  readonly eventId: string;
  readonly eventKind: string;
  readonly payload: string;
  readonly state: 'WAITING' | 'DELIVERED' | 'FAILED';
  readonly attempts: number;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly durationMs: number | null;
  readonly attemptedAt: Date | null;
  readonly createdAt: Date;
}

interface DeliveryParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly cipher: ChannelCipher;
  readonly webhooks: Pick<WebhookSender, 'send'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly keepDays: number;
}

const TIMEOUT_MS = 10_000;
/** Longer than an attempt, so that no second worker starts one at the same time. */
const CLAIM_MS = TIMEOUT_MS + 50_000;
/** Only the beginning of a response is stored, for the delivery log. */
const READ_BYTES = 300;
const DAY_MS = 24 * 60 * 60_000;
/** Longer than the queue retries. */
const GIVE_UP_DAYS = 3;

const COLUMNS = `id, channel_id as "channelId", event_id as "eventId", event_kind as "eventKind", payload, state,
  attempts, http_status as "httpStatus", error, duration_ms as "durationMs", attempted_at as "attemptedAt",
  created_at as "createdAt"`;

const RETENTION_QUEUE = retentionQueue('alert-delivery-retention', { runSeconds: 120, heartbeatSeconds: 30 });

export const ALERT_QUEUES: readonly QueueDefinition[] = [ALERT_DELIVERY_QUEUE, RETENTION_QUEUE];

export function alertWork(parts: DeliveryParts): readonly QueueWork[] {
  return [
    { queue: ALERT_DELIVERY_QUEUE, concurrency: 4, perOwner: 2, handler: createDeliveryHandler(parts) },
    {
      queue: RETENTION_QUEUE,
      concurrency: 1,
      cron: '17 * * * *',
      handler: async ({ signal }) => await purgeDeliveries(parts, signal),
    },
  ];
}

/** Newest first. `after` is the last id of the previous page. */
export async function listDeliveries(
  statements: Statements,
  { id }: Pick<AlertChannel, 'id'>,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<readonly AlertDelivery[]> {
  return await statements.query<AlertDelivery>(
    `select ${COLUMNS} from alert_deliveries where channel_id = $1 and ($2::uuid is null or id < $2)
     order by id desc limit $3`,
    [id, after, limit],
  );
}

/** The newest delivery of each channel that has one. */
export async function lastDeliveries(
  statements: Statements,
  channelIds: readonly string[],
): Promise<ReadonlyMap<string, AlertDelivery>> {
  const rows = await statements.query<AlertDelivery>(
    `select delivery.* from unnest($1::uuid[]) as channel (channel_id) cross join lateral (
       select ${COLUMNS} from alert_deliveries as own where own.channel_id = channel.channel_id order by id desc limit 1
     ) as delivery`,
    [channelIds],
  );
  return new Map(rows.map((delivery) => [delivery.channelId, delivery]));
}

/**
 * The handler of ALERT_DELIVERY_QUEUE.
 *
 * A delivery is WAITING from the commit of the transaction that raised its event. A worker claims it, sends it and
 * stores the final state: DELIVERED for a response of 200 to 299, FAILED after the last attempt. Otherwise it releases
 * the claim and fails the job, which the queue retries. If the process stops after the response and before the state is
 * stored, the same bytes are sent again, with the same event id.
 */
export function createDeliveryHandler(parts: DeliveryParts): JobHandler {
  const { database, clock, log, jobQueue } = parts;
  return async ({ data, attempt, signal }) => {
    signal.throwIfAborted();
    const deliveryId = String(data.deliveryId);
    const claimed = await claim(database, deliveryId, clock.now());
    if (claimed.outcome === 'settled') return;
    if (claimed.outcome === 'busy') {
      const again = { startAfter: claimed.until, dedupeKey: `again:${deliveryId}` };
      await jobQueue.enqueue(ALERT_DELIVERY_QUEUE.name, { deliveryId }, again);
      return;
    }
    const { delivery } = claimed;
    const attempted = await attemptOnce(parts, delivery, signal);
    const isLast = attempted.isFinal || attempt > ALERT_DELIVERY_QUEUE.retries;
    await markAttempt(database, delivery.id, attempted, { isLast, now: new Date(clock.now()) });
    if (attempted.isDelivered) return;
    const context = { deliveryId, channelId: delivery.channelId, attempt, status: attempted.httpStatus };
    if (isLast) log.warn('an alert could not be delivered', context);
    else throw new Error(`alert delivery ${deliveryId} was not accepted: ${attempted.error}`);
  };
}

/** Sends a test with a single immediate attempt and no retries; for EMAIL, the mail is queued. */
export async function sendTest(
  parts: Omit<DeliveryParts, 'keepDays' | 'jobQueue'> & DispatchParts,
  channel: AlertChannel,
): Promise<AlertDelivery | null> {
  const { database, clock, secrets } = parts;
  const now = new Date(clock.now());
  const eventId = `evt_test_${secrets.newId().replaceAll('-', '')}`;
  const deliveryId = await database.transaction(async (transaction) => {
    const company = channel.companyId === null ? null : await findCompany(transaction, channel.companyId);
    const payload = testPayload(eventId, company, channel.name, now);
    const id = await addDelivery(parts, transaction, channel, { eventId, kind: TEST_EVENT, payload });
    if (id !== null && channel.kind === 'EMAIL') {
      await mailTo(parts, transaction, channel, { id, payload, mailKey: eventId });
    }
    return id;
  });
  if (deliveryId === null) return null;
  if (channel.kind !== 'EMAIL') {
    const claimed = await claim(database, deliveryId, clock.now());
    if (claimed.outcome === 'claimed') {
      const attempted = await attemptOnce(parts, claimed.delivery, null);
      await markAttempt(database, deliveryId, attempted, { isLast: true, now: new Date(clock.now()) });
    }
  }
  const [delivery] = await database.query<AlertDelivery>(
    `select ${COLUMNS} from alert_deliveries where id = $1`,
    [deliveryId],
  );
  return delivery ?? null;
}

interface ClaimedDelivery {
  readonly id: string;
  readonly channelId: string;
  readonly payload: string;
  readonly kind: AlertChannelKind;
  readonly isOn: boolean;
  readonly isTest: boolean;
}

type Claimed =
  | { readonly outcome: 'claimed'; readonly delivery: ClaimedDelivery }
  | { readonly outcome: 'busy'; readonly until: Date }
  /** It has a final state, or its channel was deleted. */
  | { readonly outcome: 'settled' };

async function claim(database: Database, id: string, nowMs: number): Promise<Claimed> {
  const [delivery] = await database.query<ClaimedDelivery>(
    `update alert_deliveries as own set attempts = attempts + 1, claimed_until = $3
     from alert_channels as channel
     where own.id = $1 and state = 'WAITING' and (claimed_until is null or claimed_until <= $2)
       and channel.id = own.channel_id
     returning own.id, channel_id as "channelId", payload, channel.kind, is_on as "isOn",
       event_kind = '${TEST_EVENT}' as "isTest"`,
    [id, new Date(nowMs), new Date(nowMs + CLAIM_MS)],
  );
  if (delivery !== undefined) return { outcome: 'claimed', delivery };
  const [row] = await database.query<{ claimedUntil: Date | null }>(
    `select claimed_until as "claimedUntil" from alert_deliveries where id = $1 and state = 'WAITING'`,
    [id],
  );
  if (row === undefined) return { outcome: 'settled' };
  return { outcome: 'busy', until: row.claimedUntil ?? new Date(nowMs) };
}

interface Attempted {
  readonly isDelivered: boolean;
  /** Whether a further attempt would not help. */
  readonly isFinal: boolean;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly durationMs: number | null;
}

async function attemptOnce(
  parts: Pick<DeliveryParts, 'database' | 'clock' | 'cipher' | 'webhooks' | 'log'>,
  delivery: ClaimedDelivery,
  signal: AbortSignal | null,
): Promise<Attempted> {
  const { channelId, payload, kind, isOn, isTest } = delivery;
  if (!isOn && !isTest) return unsent('the channel is switched off', true);
  const now = new Date(parts.clock.now());
  const channel = await openChannel(parts.database, parts.cipher, channelId, now).catch((error: unknown) => {
    parts.log.error('an alert channel cannot be decrypted with MASTER_KEY', { channelId, error });
    return null;
  });
  if (channel === null) return unsent('its address cannot be decrypted: enter it again', false);
  const webhook: Webhook = {
    url: channel.url,
    body: kind === 'SLACK' ? slackBody(JSON.parse(payload) as AlertPayload) : payload,
    secrets: channel.secrets,
    timeoutMs: TIMEOUT_MS,
    maxAnswerBytes: READ_BYTES,
    ...(signal === null ? {} : { signal }),
  };
  return attemptedOf(await parts.webhooks.send(webhook));
}

function attemptedOf(answer: WebhookAnswer): Attempted {
  const { durationMs } = answer;
  if (answer.outcome === 'failed') {
    return { isDelivered: false, isFinal: false, httpStatus: null, error: answer.problem, durationMs };
  }
  const { status: httpStatus, body } = answer;
  const isDelivered = httpStatus >= 200 && httpStatus < 300;
  const isRedirect = httpStatus >= 300 && httpStatus < 400;
  const error = isRedirect
    ? 'redirects are not followed: enter the address that it leads to'
    : beginningOf(body);
  return { isDelivered, isFinal: false, httpStatus, error: isDelivered ? null : error, durationMs };
}

function unsent(error: string, isFinal: boolean): Attempted {
  return { isDelivered: false, isFinal, httpStatus: null, error, durationMs: null };
}

/** Control characters are replaced: the database cannot store NUL or lone surrogates. */
function beginningOf(body: Uint8Array): string {
  const text = new TextDecoder().decode(body).replace(/\p{Cc}+/gu, ' ');
  return text.toWellFormed().trim().slice(0, READ_BYTES) || 'the answer has no body';
}

async function markAttempt(
  statements: Statements,
  id: string,
  { isDelivered, httpStatus, error, durationMs }: Attempted,
  { isLast, now }: { readonly isLast: boolean; readonly now: Date },
): Promise<void> {
  const state = isDelivered ? 'DELIVERED' : isLast ? 'FAILED' : 'WAITING';
  await statements.query(
    `update alert_deliveries set state = $2, http_status = $3, error = $4, duration_ms = $5, attempted_at = $6,
       claimed_until = null, settled_at = case when $2 = 'WAITING' then null else $6::timestamptz end
     where id = $1 and state = 'WAITING'`,
    [id, state, httpStatus, error?.slice(0, 500) ?? null, durationMs, now],
  );
}

const GIVE_UP = `update alert_deliveries set state = 'FAILED', settled_at = $1, claimed_until = null,
    error = coalesce(error, 'it could not be sent in time')
  where id = any (array(
    select id from alert_deliveries where state = 'WAITING' and created_at <= $2
      and (claimed_until is null or claimed_until <= $1)
    order by created_at limit ${CHUNK_ROWS} for update skip locked))`;
const DELETE = `delete from alert_deliveries
  where id = any (array(
    select id from alert_deliveries where created_at <= $1 and state <> 'WAITING'
    order by created_at limit ${CHUNK_ROWS} for update skip locked))`;

/**
 * Gives up deliveries that have waited longer than the queue retries, and deletes those past the delivery log's
 * retention.
 */
export async function purgeDeliveries(
  { database, clock, keepDays }: Pick<DeliveryParts, 'database' | 'clock' | 'keepDays'>,
  signal?: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const stopping = signal === undefined ? {} : { signal };
  const before = (days: number) => new Date(now - days * DAY_MS);
  await changeInChunks(database, {
    ...{ sql: GIVE_UP, values: [new Date(now), before(GIVE_UP_DAYS)], ...stopping },
  });
  await changeInChunks(database, { sql: DELETE, values: [before(keepDays)], ...stopping });
}
