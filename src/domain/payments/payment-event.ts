import type { Statements } from '../../ports/database.ts';

/**
 * The life of an event: RECEIVED when its signature held and it was kept; then PROCESSED with its effect, in one
 * transaction; or IGNORED, for kinds that do nothing here; or DEFERRED until what it waits for has arrived, and
 * looked at again from time to time; or FAILED, where a person has to look, and may replay it. A fault of our own
 * leaves it RECEIVED, to be tried again, until there have been too many. PROCESSED and IGNORED are ends.
 */
export type PaymentEventStatus = 'RECEIVED' | 'PROCESSED' | 'DEFERRED' | 'FAILED' | 'IGNORED';

/** For people: without the payload. */
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

export const PAYMENT_EVENT_COLUMNS = `id, provider_event_id as "providerEventId", type, object_id as "objectId", status,
  effect, error, company_id as "companyId", attempts, happened_at as "happenedAt", received_at as "receivedAt",
  processed_at as "processedAt", next_attempt_at as "nextAttemptAt"`;

export const MOST_EVENTS = 500;

export interface AskedPaymentEvents {
  readonly status?: PaymentEventStatus | undefined;
  readonly limit?: number | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
}

/** The newest first. */
export async function listPaymentEvents(
  statements: Statements,
  { status, limit = MOST_EVENTS, after }: AskedPaymentEvents = {},
): Promise<readonly PaymentEvent[]> {
  return await statements.query<PaymentEvent>(
    `select ${PAYMENT_EVENT_COLUMNS} from provider_events
     where ($1::text is null or status = $1) and ($2::uuid is null or (received_at, id) <
       (select last.received_at, last.id from provider_events as last where last.id = $2))
     order by received_at desc, id desc limit $3`,
    [status ?? null, after ?? null, Math.max(1, Math.min(Math.trunc(limit), MOST_EVENTS))],
  );
}

export async function findPaymentEvent(statements: Statements, id: string): Promise<PaymentEvent | null> {
  const rows = await statements.query<PaymentEvent>(
    `select ${PAYMENT_EVENT_COLUMNS} from provider_events where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}
