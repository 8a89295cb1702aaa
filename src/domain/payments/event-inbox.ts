import type { Statements, Transaction } from '../../ports/database.ts';
import { isObject } from '../../ports/json-object.ts';
import { PROVIDER_API_VERSION, type ProviderEvent, type WireObject } from '../../ports/payment-provider.ts';
import type { StoredPaymentEvent, WaitKey } from './effect.ts';
import { fieldsIn, idIn } from './provider-objects.ts';

/**
 * The states of an event. RECEIVED: its signature is valid and it is stored. PROCESSED: applied, in one transaction with its
 * effect. IGNORED: its type has no effect here, or an operator dropped it. DEFERRED: waits for something that has not
 * arrived, and is checked again from time to time. FAILED: an operator has to look at it and may replay it. A fault of ours
 * leaves it RECEIVED, to be retried, until there were too many. PROCESSED and IGNORED are final.
 */
export type PaymentEventStatus = 'RECEIVED' | 'PROCESSED' | 'DEFERRED' | 'FAILED' | 'IGNORED';

/** For display, without the payload. */
export interface PaymentEvent {
  readonly id: string;
  readonly providerEventId: string;
  readonly type: string;
  readonly objectId: string | null;
  readonly status: PaymentEventStatus;
  readonly effect: string | null;
  readonly error: string | null;
  readonly companyId: string | null;
  readonly attempts: number;
  readonly happenedAt: Date;
  readonly receivedAt: Date;
  readonly processedAt: Date | null;
  readonly nextAttemptAt: Date | null;
}

const PAYMENT_EVENT_COLUMNS = `id, provider_event_id as "providerEventId", type, object_id as "objectId", status,
  effect, error, company_id as "companyId", attempts, happened_at as "happenedAt", received_at as "receivedAt",
  processed_at as "processedAt", next_attempt_at as "nextAttemptAt"`;

const MOST_EVENTS = 500;

interface PaymentEventListParams {
  readonly status?: PaymentEventStatus | undefined;
  readonly limit?: number | undefined;
  /** The id of the last event of the previous page. */
  readonly after?: string | undefined;
}

/** Newest first. */
export async function listPaymentEvents(
  statements: Statements,
  { status, limit = MOST_EVENTS, after }: PaymentEventListParams = {},
): Promise<readonly PaymentEvent[]> {
  return await statements.query<PaymentEvent>(
    `select ${PAYMENT_EVENT_COLUMNS} from provider_events
     where ($1::text is null or status = $1) and ($2::uuid is null or (received_at, id) <
       (select last.received_at, last.id from provider_events as last where last.id = $2))
     order by received_at desc, id desc limit $3`,
    [status ?? null, after ?? null, Math.max(1, Math.min(Math.trunc(limit), MOST_EVENTS))],
  );
}

/** Events that are not final, by status; failed ones need an operator. */
interface UnfinishedEvents {
  readonly received: number;
  readonly deferred: number;
  readonly failed: number;
  readonly oldestReceivedAt: Date | null;
}

export async function countUnfinishedEvents(statements: Statements): Promise<UnfinishedEvents> {
  const [row] = await statements.query<UnfinishedEvents>(
    `select (count(*) filter (where status = 'RECEIVED'))::integer as received,
       (count(*) filter (where status = 'DEFERRED'))::integer as deferred,
       (count(*) filter (where status = 'FAILED'))::integer as failed, min(received_at) as "oldestReceivedAt"
     from provider_events where status in ('RECEIVED', 'DEFERRED', 'FAILED')`,
  );
  return row ?? { received: 0, deferred: 0, failed: 0, oldestReceivedAt: null };
}

export async function findPaymentEvent(statements: Statements, id: string): Promise<PaymentEvent | null> {
  const rows = await statements.query<PaymentEvent>(
    `select ${PAYMENT_EVENT_COLUMNS} from provider_events where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** Which of the provider's ids are stored in our API version, in any status. */
export async function knownEvents(
  statements: Statements,
  providerEventIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await statements.query<{ id: string }>(
    `select provider_event_id as id from provider_events
     where provider_event_id = any($1::text[]) and coalesce(api_version, $2) = $2`,
    [providerEventIds, PROVIDER_API_VERSION],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The stored events of a subscription that show its payment past due, after the last one that does not. */
interface PastDueRun {
  /** The first of them; null if there are none. */
  readonly since: Date | null;
  /** False if an earlier one may have been removed. */
  readonly isWhole: boolean;
}

/** Events that are not applied, as those of another account, do not count. */
export async function pastDueRun(statements: Statements, subscriptionId: string): Promise<PastDueRun> {
  const [row] = await statements.query<PastDueRun>(
    `with reports as (
       select happened_at, payload #>> '{data,object,status}' = 'past_due' as is_past_due from provider_events
       where object_id = $1 and type like 'customer.subscription.%' and status in ('RECEIVED', 'DEFERRED', 'PROCESSED'))
     select min(happened_at) filter (where is_past_due and (other_at is null or happened_at >= other_at)) as since,
       count(other_at) > 0 as "isWhole"
     from reports cross join (select max(happened_at) as other_at from reports where not is_past_due) as other`,
    [subscriptionId],
  );
  return row ?? { since: null, isWhole: false };
}

/** An event on arrival, before it is processed. */
interface Arrival {
  readonly id: string;
  readonly event: ProviderEvent;
  readonly status: Extract<PaymentEventStatus, 'RECEIVED' | 'IGNORED' | 'FAILED'>;
  readonly error: string | null;
  readonly now: Date;
  /** Retry after this if the processing crashed. */
  readonly nextAttemptAt: Date | null;
}

/** Stored under the given id, or present from an earlier delivery under another. */
export type StoredEvent =
  | { readonly id: string; readonly isNew: true }
  | {
      readonly id: string;
      readonly isNew: false;
      readonly status: PaymentEventStatus;
      readonly apiVersion: string | null;
    };

export async function storeEvent(
  statements: Statements,
  { id, event, status, error, now, nextAttemptAt }: Arrival,
): Promise<StoredEvent> {
  const processedAt = status === 'IGNORED' ? now : null;
  const added = await statements.query(
    `insert into provider_events (id, provider_event_id, type, object_id, api_version, happened_at, payload, status,
       error, received_at, processed_at, next_attempt_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict (provider_event_id) do nothing returning id`,
    [
      id,
      event.id,
      event.type,
      idIn(event.object.id),
      event.apiVersion,
      new Date(event.createdAtMs),
      storable(event.payload),
      status,
      error,
      now,
      processedAt,
      nextAttemptAt,
    ],
  );
  if (added.length > 0) return { id, isNew: true };
  const [present] = await statements.query<Omit<Extract<StoredEvent, { isNew: false }>, 'isNew'>>(
    'select id, status, api_version as "apiVersion" from provider_events where provider_event_id = $1',
    [event.id],
  );
  if (present === undefined) throw new Error('an event is neither new nor kept');
  return { ...present, isNew: false };
}

/** Stores another delivery of an event that was set aside on arrival, to be applied. */
export async function replaceEvent(
  statements: Statements,
  { id, apiVersion }: Extract<StoredEvent, { isNew: false }>,
  event: ProviderEvent,
  nextAttemptAt: Date,
): Promise<void> {
  await statements.query(
    `update provider_events set payload = $3, api_version = $4, status = 'RECEIVED', error = null, next_attempt_at = $5
     where id = $1 and status = 'FAILED' and attempts = 0 and api_version is not distinct from $2`,
    [id, apiVersion, storable(event.payload), event.apiVersion, nextAttemptAt],
  );
}

/**
 * The database stores neither zero characters nor unpaired surrogates. Buyers may enter both, also in field names, and
 * an event must not be lost because of them.
 */
function storable(payload: ProviderEvent['payload']): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(payload);
  if (!/\\u(0000|d[89a-f])/i.test(text)) return payload;
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value === 'string') return storableText(value);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [storableText(name), member]));
  });
}

function storableText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}

export interface LockedEvent extends StoredPaymentEvent {
  readonly apiVersion: string | null;
  readonly payload: ProviderEvent['payload'];
  readonly status: PaymentEventStatus;
  readonly attempts: number;
  readonly receivedAt: Date;
}

/** Concurrent deliveries of the same event wait here: the second sees the result of the first. */
export async function lockEvent(transaction: Transaction, id: string): Promise<LockedEvent | null> {
  const [row] = await transaction.query<Omit<LockedEvent, 'object' | 'previousAttributes'>>(
    `select id, provider_event_id as "providerEventId", type, api_version as "apiVersion", happened_at as "happenedAt",
       payload, status, attempts, received_at as "receivedAt"
     from provider_events where id = $1 for update`,
    [id],
  );
  if (row === undefined) return null;
  const data = fieldsIn(row.payload.data);
  const previous = data.previous_attributes;
  return {
    ...row,
    object: fieldsIn(data.object) as WireObject,
    previousAttributes: previous === undefined || previous === null ? null : fieldsIn(previous),
  };
}

interface Mark {
  readonly status: PaymentEventStatus;
  readonly effect: string | null;
  readonly error: string | null;
  readonly companyId: string | null;
  readonly waitsFor: readonly WaitKey[];
  readonly nextAttemptAt: Date | null;
  readonly now: Date;
}

/** The last statement of the transaction that has applied the event, or found that it cannot be applied. */
export async function markEvent(statements: Statements, id: string, mark: Mark): Promise<void> {
  await statements.query(
    `update provider_events set status = $2, effect = $3, error = $4, company_id = coalesce($5, company_id),
       waits_for = $6::text[], next_attempt_at = $7, attempts = attempts + 1,
       processed_at = case when $2 in ('PROCESSED', 'IGNORED') then $8::timestamptz end
     where id = $1`,
    [
      id,
      mark.status,
      mark.effect?.slice(0, 500) ?? null,
      mark.error?.slice(0, 2_000) ?? null,
      mark.companyId,
      mark.waitsFor,
      mark.nextAttemptAt,
      mark.now,
    ],
  );
}

/** Events that wait for one of these, or waited until they were given up, oldest first. */
export async function waitingEvents(
  statements: Statements,
  keys: readonly WaitKey[],
  limit: number,
): Promise<readonly string[]> {
  const rows = await statements.query<{ id: string }>(
    `select id from provider_events 
     where status in ('DEFERRED', 'FAILED') and waits_for <> '{}' and waits_for && $1::text[]
     order by happened_at, id limit $2`,
    [keys, limit],
  );
  return rows.map(({ id }) => id);
}

/**
 * Events whose retry is due, the longest overdue first. One after `latest` was written by a clock that was ahead, and is due
 * too.
 */
export async function dueEvents(
  statements: Statements,
  { now, latest }: { readonly now: Date; readonly latest: Date },
  limit: number,
): Promise<readonly string[]> {
  const rows = await statements.query<{ id: string }>(
    `select id from provider_events where next_attempt_at <= $1 or next_attempt_at > $2
     order by next_attempt_at, id limit $3`,
    [now, latest, limit],
  );
  return rows.map(({ id }) => id);
}
