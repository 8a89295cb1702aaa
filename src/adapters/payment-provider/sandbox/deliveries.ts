import type Stripe from 'stripe';
import type { Row, Statements } from '../../../ports/database.ts';

export interface NewDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  readonly state: 'pending' | 'dropped';
  readonly flaw: 'bad_signature' | 'stale_timestamp' | null;
  readonly atOnce: boolean;
  readonly sendOrder: number;
  readonly madeAtMs: number;
  readonly nextAttemptMs: number;
}

export interface DueDelivery {
  readonly id: string;
  readonly flaw: NewDelivery['flaw'];
  readonly at_once: boolean;
  readonly attempts: number;
  readonly event: Stripe.Event;
  /** Null where the endpoint was deleted meanwhile. */
  readonly url: string | null;
  readonly secret: string | null;
}

const TOGETHER = 100;

export async function addDelivery(statements: Statements, delivery: NewDelivery): Promise<void> {
  const { id, eventId, endpointId, state, flaw, atOnce, sendOrder, madeAtMs, nextAttemptMs } = delivery;
  await statements.query(
    `insert into payment_sandbox_deliveries
       (id, event_id, endpoint_id, state, flaw, at_once, send_order, next_attempt_at, made_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, eventId, endpointId, state, flaw, atOnce, sendOrder, new Date(nextAttemptMs), new Date(madeAtMs)],
  );
}

/** The group that was held back is whole: it may go. */
export async function releaseHeld(
  statements: Statements,
  group: 'reordered' | 'at-once',
  nowMs: number,
): Promise<void> {
  const condition = group === 'reordered' ? 'send_order < 0' : 'at_once';
  await statements.query(
    `update payment_sandbox_deliveries set next_attempt_at = $1
     where state = 'pending' and attempts = 0 and ${condition}`,
    [new Date(nowMs)],
  );
}

/** Those to be sent now: the first one, or all that are to go at the same moment. */
export async function takeDue(statements: Statements, nowMs: number): Promise<DueDelivery[]> {
  const due = await statements.query<DueDelivery>(
    `select d.id, d.flaw, d.at_once, d.attempts, e.body as event, w.body ->> 'url' as url,
            w.hidden ->> 'secret' as secret
     from payment_sandbox_deliveries d
     join payment_sandbox_objects e on e.id = d.event_id
     left join payment_sandbox_objects w on w.id = d.endpoint_id
     where d.state = 'pending' and d.next_attempt_at <= $1
     order by d.send_order, d.sequence limit $2`,
    [new Date(nowMs), TOGETHER],
  );
  return due[0]?.at_once === true ? due.filter((one) => one.at_once) : due.slice(0, 1);
}

export async function earliestAttempt(statements: Statements): Promise<number | null> {
  const rows = await statements.query<{ earliest: Date | null }>(
    `select min(next_attempt_at) as earliest from payment_sandbox_deliveries where state = 'pending'`,
  );
  return rows[0]?.earliest?.getTime() ?? null;
}

export interface Attempted {
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly status: number | null;
  readonly error: string | null;
  readonly nextAttemptMs: number;
}

export async function markAttempt(statements: Statements, id: string, attempted: Attempted): Promise<void> {
  const { state, status, error, nextAttemptMs } = attempted;
  await statements.query(
    `update payment_sandbox_deliveries set state = $2, attempts = attempts + 1, last_status = $3,
       last_error = $4, next_attempt_at = $5 where id = $1`,
    [id, state, status, error, new Date(nextAttemptMs)],
  );
  if (state !== 'delivered') return;
  await statements.query(
    `update payment_sandbox_objects o
     set body = jsonb_set(o.body, '{pending_webhooks}', to_jsonb(
       (select count(distinct endpoint_id) from payment_sandbox_deliveries
        where event_id = o.id and state <> 'delivered')))
     from payment_sandbox_deliveries d where d.id = $1 and o.id = d.event_id`,
    [id],
  );
}

/** To look at: newest first. */
export async function listDeliveries(statements: Statements, limit: number): Promise<Row[]> {
  return await statements.query(
    `select d.id, d.event_id, e.body ->> 'type' as event_type, e.body #>> '{data,object,id}' as object_id,
            d.endpoint_id, d.state, d.flaw, d.attempts, d.last_status, d.last_error,
            d.next_attempt_at, d.made_at
     from payment_sandbox_deliveries d join payment_sandbox_objects e on e.id = d.event_id
     order by d.sequence desc limit $1`,
    [limit],
  );
}
